/** Requests of at most the body limit that are made to hold a server up: each is answered, and so is `/health` beside it. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { Worker } from "node:worker_threads";
import { startCli } from "../cli/spawn-cli.ts";
import { checkpoint } from "./model/served.ts";

/** Far above what is measured, so that a busy machine fails nothing: minutes are what it looks for. */
const mostMs = 10_000;

async function serverOf(t: TestContext, ...args: string[]): Promise<string> {
  const child = startCli([...args, "--port", "0"]);
  t.after(async () => {
    child.kill();
    await once(child, "close");
  });
  let said = "";
  for await (const chunk of child.stdout) {
    said += chunk;
    const [url] = /http:\/\/127\.0\.0\.1:\d+/.exec(said) ?? [];
    if (url !== undefined) return url;
  }
  throw new Error(`no address: ${said}`);
}

interface Waits {
  readonly worstMs: number;
  readonly numAsked: number;
}

async function watched(t: TestContext, url: string): Promise<() => Promise<Waits>> {
  const worker = new Worker(new URL("health-poll.js", import.meta.url), { workerData: url });
  t.after(() => worker.terminate());
  return async () => {
    worker.postMessage("");
    const [waits] = (await once(worker, "message")) as [Waits];
    return waits;
  };
}

interface Attack {
  readonly path: string;
  readonly bodies: readonly string[];
}

async function attack(t: TestContext, url: string, attacks: Readonly<Record<string, Attack>>): Promise<void> {
  const waits = await watched(t, url);
  await sleep(2000);
  await waits();
  await sleep(2000);
  t.diagnostic(`nothing beside it: worst /health ${(await waits()).worstMs.toFixed(0)} ms`);
  for (const [name, { path, bodies }] of Object.entries(attacks)) {
    const begun = performance.now();
    const answers = await Promise.all(
      bodies.map(async (body) => {
        const answer = await fetch(`${url}${path}`, { method: "POST", body });
        await answer.arrayBuffer();
        return answer.status;
      }),
    );
    const ms = performance.now() - begun;
    await sleep(50);
    const { worstMs, numAsked } = await waits();
    t.diagnostic(
      `${name}: ${[...new Set(answers)]} after ${ms.toFixed(0)} ms, worst /health ${worstMs.toFixed(0)} ms of ${numAsked}`,
    );
    assert.ok(
      answers.every((status) => status < 500),
      `${name}: ${answers}`,
    );
    assert.ok(worstMs < mostMs && ms < 10 * mostMs, `${name}: ${worstMs} ms, ${ms} ms`);
  }
}

const hash = (text: string): string => createHash("sha256").update(text).digest("hex").slice(0, 36);
const list = (item: string, count: number): string => `[${Array.from({ length: count }, () => item).join()}]`;
const asks = (fields: object): string => JSON.stringify({ max_tokens: 4, ...fields });
const said = (content: unknown): object[] => [{ role: "user", content }];
const held = (schema: object): string =>
  asks({
    messages: said("hi"),
    response_format: { type: "json_schema", json_schema: { name: "a", schema } },
  });
const enumOf = (salt: string): object => ({
  type: "object",
  properties: { id: { enum: Array.from({ length: 20_000 }, (_, i) => hash(`${salt}${i}`)) } },
  required: ["id"],
});
const nested = (depth: number): object =>
  depth === 0 ? { type: "null" } : { type: "array", items: nested(depth - 1) };
const tool = (i: number): object => ({
  type: "function",
  function: { name: `f${i}`, strict: true, parameters: { ...enumOf(`t${i}`), additionalProperties: false } },
});
const long: Readonly<Record<string, string>> = {
  "5 MB of words": "hello world ".repeat(416_000),
  "15 MB of words": "hello world ".repeat(1_250_000),
  "5 MB without spaces": "a".repeat(5_000_000),
  "5 MB of spaces": " ".repeat(5_000_000),
  "1 MB of marks": `a${"\u0301\u0316".repeat(250_000)}`,
};
const chat = "/v1/chat/completions";

test("a model server answers hostile requests, and /health beside them", async (t) => {
  const url = await serverOf(t, "serve", "--model", checkpoint);
  const texts = Object.entries(long).flatMap(([name, text]): [string, Attack][] => [
    [`${name}, chat`, { path: chat, bodies: [asks({ messages: said(text) })] }],
    [`${name}, completions`, { path: "/v1/completions", bodies: [asks({ prompt: text })] }],
    [
      `${name}, messages`,
      { path: "/v1/messages", bodies: [asks({ model: "checkpoint", messages: said(text) })] },
    ],
    [`${name}, responses`, { path: "/v1/responses", bodies: [JSON.stringify({ input: text })] }],
    [
      `${name}, tokenize`,
      { path: "/tokenize", bodies: [JSON.stringify({ content: text.slice(0, 1 << 20) })] },
    ],
  ]);
  const patterns = [
    `^${"(a|b|c)?".repeat(5000)}$`,
    "^(((a?){1000}){1000}){1000}$",
    "^((a*)*)*b$",
    "(.*a){60}",
  ];
  await attack(t, url, {
    "six enums of 20,000": { path: chat, bodies: Array.from({ length: 6 }, (_, i) => held(enumOf(`${i}`))) },
    "forty schemas": {
      path: chat,
      bodies: Array.from({ length: 40 }, (_, i) => held({ type: "string", maxLength: 500 + i })),
    },
    "a deep schema": { path: chat, bodies: [held(nested(120))] },
    patterns: { path: chat, bodies: patterns.map((pattern) => held({ type: "string", pattern })) },
    "long lengths": {
      path: chat,
      bodies: [
        held({ type: "string", minLength: 100_000 }),
        held({ type: "array", items: {}, minItems: 100_000 }),
      ],
    },
    "an enum of 15 MB": {
      path: chat,
      bodies: [held({ enum: Array.from({ length: 350_000 }, (_, i) => hash(`${i}`)) })],
    },
    "tools with enums": {
      path: chat,
      bodies: [asks({ messages: said("hi"), tools: [0, 1, 2].map(tool), tool_choice: "required" })],
    },
    "many tools": {
      path: chat,
      bodies: [
        `{"messages":[{"role":"user","content":"a"}],"tools":${list('{"type":"function","function":{"name":"f"}}', 4900)}}`,
      ],
    },
    ...Object.fromEntries(texts),
    "a million messages": {
      path: chat,
      bodies: [`{"messages":${list('{"role":"user","content":"a"}', 500_000)}}`],
    },
    "9,900 messages": {
      path: chat,
      bodies: [`{"messages":${list('{"role":"user","content":"a"}', 9_900)}}`],
    },
    "9,900 parts": {
      path: chat,
      bodies: [`{"messages":[{"role":"user","content":${list('{"type":"text","text":"a"}', 9_900)}}]}`],
    },
    "numbers for messages": { path: chat, bodies: [`{"messages":${list("1", 7_000_000)}}`] },
    "290,000 numbers for messages": { path: chat, bodies: [`{"messages":${list("1", 290_000)}}`] },
    "290,000 ids": { path: "/v1/completions", bodies: [`{"prompt":${list("1", 290_000)}}`] },
    "290,000 prompts": { path: "/v1/completions", bodies: [`{"prompt":${list('"a"', 290_000)}}`] },
    "a long stop list": {
      path: chat,
      bodies: [`{"messages":[{"role":"user","content":"a"}],"stop":${list('"a"', 290_000)}}`],
    },
    "many biases": {
      path: chat,
      bodies: [
        asks({
          messages: said("a"),
          logit_bias: Object.fromEntries(Array.from({ length: 90_000 }, (_, i) => [i, 1])),
        }),
      ],
    },
  });
});
