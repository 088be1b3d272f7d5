/** Two minutes of clients that leave, dawdle, send nonsense and heavy schemas: every request is answered, memory stays flat. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
// Node 20's own fetch never ends a read of an answer that had come whole when it was aborted.
import { fetch, type Response } from "undici";
import { dice } from "../dice.ts";
import { projectRoot } from "../project.ts";

const minutes = 2;
const numClients = 8;
const answerWithinMs = 60_000;

class LateError extends Error {}

/** Settles in time even where the client's own library would wait for ever, so that a hang is a fault of its request. */
async function withinTime<T>(work: Promise<T>): Promise<T> {
  const timer = new AbortController();
  const late = sleep(answerWithinMs, undefined, { signal: timer.signal }).then(() => {
    throw new LateError(`no end within ${answerWithinMs} ms`);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    timer.abort();
  }
}

async function startServer(t: TestContext): Promise<{ url: string; child: ChildProcess }> {
  const flags = ["--model", join(projectRoot, "world", "checkpoint"), "--name", "world", "--port", "0"];
  const limits = ["--json", "--cache-gib", "0.02", "--max-body-bytes", "2000000"];
  const args = [join(projectRoot, "bin", "seekrl.mjs"), "serve", ...flags, ...limits];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  t.after(() => child.kill("SIGKILL"));
  const [line] = (await withinTime(once(child.stdout, "data"))) as [Buffer];
  return { url: (JSON.parse(String(line)) as { url: string }).url, child };
}

/** Megabytes of the server in memory. */
async function residentMb(child: ChildProcess): Promise<number> {
  const status = await readFile(`/proc/${child.pid}/status`, "utf8");
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024;
}

type Roll = (below: number) => number;

const chat = (content: string, more: object = {}) => ({
  model: "world",
  messages: [{ role: "user", content }],
  ...{ max_tokens: 32, temperature: 0, ...more },
});
const schemaOf = (schema: object) => ({
  response_format: { type: "json_schema", json_schema: { name: "s", schema, strict: true } },
});
const names = (count: number, salt: number): string[] =>
  Array.from({ length: count }, (_, i) => `product-${salt}-${i}`);

/** Bodies that a server meets, and which statuses answer them. */
const kinds: readonly {
  readonly path?: string;
  readonly body: (roll: Roll) => string;
  readonly statuses: readonly number[];
}[] = [
  { body: (roll) => JSON.stringify(chat(`Who directed film ${roll(99)}?`)), statuses: [200] },
  {
    body: (roll) =>
      JSON.stringify(chat("hello", { stream: true, max_tokens: 1 + roll(200), temperature: 1 })),
    statuses: [200],
  },
  { body: () => '{"model": "world", "messages": [', statuses: [400] },
  { body: () => JSON.stringify(chat("x", { temperatur: 1 })), statuses: [400] },
  { body: () => JSON.stringify({ ...chat("x"), model: "none" }), statuses: [404] },
  { body: (roll) => "[".repeat(1 + roll(100_000)), statuses: [400] },
  { body: (roll) => JSON.stringify(chat("long ".repeat(roll(300_000)))), statuses: [200, 400] },
  { body: () => JSON.stringify(chat("\u0301".repeat(500_000))), statuses: [400] },
  { body: () => "x".repeat(2_500_000), statuses: [413] },
  {
    body: (roll) => JSON.stringify(chat("pick", schemaOf({ enum: names(1 + roll(8000), roll(1000)) }))),
    statuses: [200, 400],
  },
  {
    body: (roll) =>
      JSON.stringify(chat("write", schemaOf({ type: "string", pattern: "(a|b){1,40}".repeat(1 + roll(6)) }))),
    statuses: [200, 400],
  },
  {
    body: (roll) =>
      JSON.stringify(chat("count", schemaOf({ type: "array", items: {}, minItems: roll(1_000_000) }))),
    statuses: [200, 400],
  },
  {
    path: "/v1/messages",
    body: () =>
      JSON.stringify({ model: "world", max_tokens: 16, messages: [{ role: "user", content: "hi" }] }),
    statuses: [200],
  },
  {
    path: "/v1/responses",
    body: () => JSON.stringify({ model: "world", input: "hi", max_output_tokens: 16 }),
    statuses: [200],
  },
  { path: "/v1/nothing", body: () => "{}", statuses: [404] },
];

/** How a client takes an answer: as a whole, slowly, in part, or not at all. */
async function take(answer: Response, roll: Roll, leave: AbortController): Promise<void> {
  const how = roll(4);
  if (how === 0) return leave.abort();
  const reader = answer.body?.getReader();
  for (let i = 0; ; i += 1) {
    const { done = true } = (await reader?.read()) ?? {};
    if (done) return;
    if (how === 1) await sleep(roll(60));
    if (how === 2 && i === roll(20)) return leave.abort();
  }
}

test("a server of which everything is asked at once answers everything, and its memory stays flat", async (t) => {
  const { url, child } = await startServer(t);
  const until = performance.now() + minutes * 60_000;
  const counts = new Map<string, number>();
  const count = (name: string): void => void counts.set(name, (counts.get(name) ?? 0) + 1);
  const faults: string[] = [];

  const client = async (seed: number): Promise<void> => {
    const roll = dice(seed);
    while (performance.now() < until) {
      const { path = "/v1/chat/completions", body, statuses } = kinds[roll(kinds.length)]!;
      const text = body(roll);
      const leave = new AbortController();
      const leavesEarly = roll(10) === 0;
      if (leavesEarly) setTimeout(() => leave.abort(), roll(50));
      const ask = async (): Promise<void> => {
        const answer = await fetch(url + path, { method: "POST", body: text, signal: leave.signal });
        count(`${answer.status}`);
        if (!statuses.includes(answer.status) && answer.status !== 429)
          faults.push(`${answer.status}: ${(await answer.text()).slice(0, 300)} for ${text.slice(0, 200)}`);
        else await take(answer, roll, leave);
      };
      try {
        await withinTime(ask());
      } catch (error) {
        const isLate = error instanceof LateError;
        if (!isLate && leave.signal.aborted) count("left");
        // A body beyond the limit may be answered, and the line cut, before it is all sent.
        else if (!isLate && statuses.includes(413)) count("413 cut");
        else faults.push(`${error} ${(error as Error).cause} for ${text.slice(0, 200)}`);
        leave.abort();
      }
    }
  };

  const healthMs: number[] = [];
  const watch = async (): Promise<void> => {
    while (performance.now() < until) {
      const begun = performance.now();
      assert.equal((await withinTime(fetch(`${url}/health`))).status, 200);
      healthMs.push(performance.now() - begun);
      await sleep(100);
    }
  };
  const memory: number[] = [];
  const weigh = async (): Promise<void> => {
    while (performance.now() < until) {
      memory.push(await residentMb(child));
      await sleep(1000);
    }
  };
  await Promise.all([watch(), weigh(), ...Array.from({ length: numClients }, (_, i) => client(i))]);

  const largest = (values: readonly number[]): number => Math.max(...values);
  const [third, last] = [
    memory.slice(memory.length / 3, (2 * memory.length) / 3),
    memory.slice((2 * memory.length) / 3),
  ];
  healthMs.sort((a, b) => a - b);
  t.diagnostic(`answers: ${JSON.stringify(Object.fromEntries([...counts].sort()))}`);
  t.diagnostic(
    `/health: median ${healthMs[healthMs.length >> 1]?.toFixed(1)} ms, worst ${largest(healthMs).toFixed(0)} ms`,
  );
  t.diagnostic(
    `memory, MB: ${memory[0]?.toFixed(0)} at first, at most ${largest(third).toFixed(0)} in the second third and ${largest(last).toFixed(0)} in the last`,
  );
  assert.deepEqual(faults, []);
  // What is read at once differs from moment to moment; a leak of a body in ten would be gigabytes.
  assert.ok(largest(last) < 1.25 * largest(third) + 64, `${largest(third)} MB became ${largest(last)} MB`);
  const idle = /seekrl_requests_(running|waiting) [1-9]/;
  for (let i = 0; i < 600 && idle.test(await (await fetch(`${url}/metrics`)).text()); i += 1) await sleep(50);
  assert.doesNotMatch(await (await fetch(`${url}/metrics`)).text(), idle);
});
