/** Requests of at most the body limit that are made to hold a server up: each is answered, and so is `/health` beside it. */
import { createHash } from "node:crypto";
import { test } from "node:test";
import { type Attack, asked, attack, list, serverOf } from "./attack.ts";
import { checkpoint } from "./model/served.ts";

const hash = (text: string): string => createHash("sha256").update(text).digest("hex").slice(0, 36);
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
  "4 MB of words": "hello world ".repeat(340_000),
  "15 MB of words": "hello world ".repeat(1_250_000),
  "4 MB without spaces": "a".repeat(4_000_000),
  "4 MB of spaces": " ".repeat(4_000_000),
  "1 MB of marks": `a${"\u0301\u0316".repeat(250_000)}`,
};
const chat = "/v1/chat/completions";
const called = (text: string): object[] => [
  ...said("a"),
  {
    role: "assistant",
    tool_calls: [{ id: "1", type: "function", function: { name: "f", arguments: text } }],
  },
  { role: "tool", tool_call_id: "1", content: "b" },
];
const hashes = (count: number): [string, number][] =>
  Array.from({ length: count }, (_, i) => [hash(`${i}`), i]);
const patterned = {
  type: "object",
  properties: { a: { type: "string", pattern: `^${"(a|b)?".repeat(1000)}$` } },
  required: ["a"],
};

test("a model server answers hostile requests, and /health beside them", async (t) => {
  const server = await serverOf(t, "serve", "--model", checkpoint);
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
  await attack(t, server, {
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
    "an enum of 4 MB": {
      path: chat,
      bodies: [held({ enum: Array.from({ length: 105_000 }, (_, i) => hash(`${i}`)) })],
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
    "130,000 messages": {
      path: chat,
      bodies: [`{"messages":${list('{"role":"user","content":"a"}', 130_000)}}`],
    },
    "9,900 messages": {
      path: chat,
      bodies: [`{"messages":${list('{"role":"user","content":"a"}', 9_900)}}`],
    },
    "9,900 parts": {
      path: chat,
      bodies: [`{"messages":[{"role":"user","content":${list('{"type":"text","text":"a"}', 9_900)}}]}`],
    },
    "numbers for messages": { path: chat, bodies: [`{"messages":${list("1", 2_000_000)}}`] },
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
    "arguments of a million numbers": {
      path: chat,
      bodies: [asks({ messages: called(JSON.stringify(Array(290_000).fill(1))) })],
    },
    "arguments of 1 MB": {
      path: chat,
      bodies: [asks({ messages: called(JSON.stringify({ a: "hello ".repeat(170_000) })) })],
    },
    "an input of 4 MB, messages": {
      path: "/v1/messages",
      bodies: [
        asks({
          model: "checkpoint",
          messages: [
            ...said("a"),
            {
              role: "assistant",
              content: [{ type: "tool_use", id: "1", name: "f", input: { a: "b ".repeat(2_000_000) } }],
            },
          ],
        }),
      ],
    },
    "an answer of 4 MB that comes back": {
      path: chat,
      bodies: [
        asks({
          messages: [...said("a"), { role: "assistant", content: "hello ".repeat(690_000) }, ...said("b")],
        }),
      ],
    },
    "1,000 messages of the context": {
      path: chat,
      bodies: [`{"messages":${list('{"role":"user","content":""}', 1000)}}`],
    },
    "9,900 messages, messages": {
      path: "/v1/messages",
      bodies: [
        `{"model":"checkpoint","max_tokens":4,"messages":${list('{"role":"user","content":"a"}', 9_900)}}`,
      ],
    },
    "9,900 items, responses": {
      path: "/v1/responses",
      bodies: [`{"input":${list('{"role":"user","content":"a"}', 9_900)}}`],
    },
    "90,000 fields": {
      path: chat,
      bodies: [asks({ messages: said("a"), metadata: Object.fromEntries(hashes(90_000)) })],
    },
    "10,000 fields": {
      path: chat,
      bodies: [asks({ messages: said("a"), chat_template_kwargs: Object.fromEntries(hashes(9_900)) })],
    },
    "a name of 4 MB": { path: chat, bodies: [`{"messages":[],"${"k".repeat(4_000_000)}":1}`] },
    "a number of 4 MB": { path: chat, bodies: [`{"messages":[],"seed":${"1".repeat(4_000_000)}}`] },
    "4 MB of quotes": { path: chat, bodies: ['""'.repeat(2_000_000)] },
    "4 MB of an open text": { path: chat, bodies: [`{"a":"${'\\"'.repeat(2_000_000)}`] },
    "the pattern of a tool": {
      path: chat,
      bodies: [
        asks({
          messages: said("a"),
          tool_choice: "required",
          tools: [{ type: "function", function: { name: "f", strict: true, parameters: patterned } }],
        }),
      ],
    },
    "a long template, asked for": {
      path: "/apply-template",
      bodies: [asked({ messages: said("hello ".repeat(690_000)) })],
    },
  });
});
