/** Replies as models write them become reasoning, text and calls, however they are cut. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { replyFormatNamed, replyFormatNames } from "../../../apps/serve/reading/reply-format.ts";
import { ReplyReader } from "../../../apps/serve/reading/reply-reader.ts";
import { cut, functions, type Part, randomNumbers, read, readPieces } from "./replies.ts";

const search = (query: string): Part => ({ name: "search", arguments: `{"query": "${query}"}` });

/** Replies in the form that each model's template, or its documentation, shows. */
const golden: readonly (readonly [format: string, reply: string, parts: readonly Part[]])[] = [
  ["hermes", "Hello, world.\n", [{ text: "Hello, world.\n" }]],
  [
    "hermes",
    '<tool_call>\n{"name": "search", "arguments": {"query": "Citibank"}}\n</tool_call>',
    [search("Citibank")],
  ],
  [
    "hermes",
    '<think>\nI should look.\n</think>\n\nLet me see.\n<tool_call>\n{"name": "search", "arguments": {"query": "a"}}\n</tool_call>\n<tool_call>\n{"name": "get_time", "arguments": {}}\n</tool_call>',
    [
      { reasoning: "I should look." },
      { text: "Let me see." },
      search("a"),
      { name: "get_time", arguments: "{}" },
    ],
  ],
  [
    "qwen3-coder",
    'I\'ll look.\n<tool_call>\n<function=search>\n<parameter=query>\nline "1"\n\n  line 2 <b>\n</parameter>\n<parameter=k>\n3\n</parameter>\n<parameter=tags>\n["x", 1]\n</parameter>\n</function>\n</tool_call>\n<tool_call>\n<function=get_time>\n</function>\n</tool_call>',
    [
      { text: "I'll look." },
      {
        name: "search",
        arguments: JSON.stringify({ query: 'line "1"\n\n  line 2 <b>', k: 3, tags: ["x", 1] })
          .replaceAll('","k":3,"tags":["x",1]', '", "k": 3, "tags": ["x", 1]')
          .replace('"query":', '"query": '),
      },
      { name: "get_time", arguments: "{}" },
    ],
  ],
  ["llama3", '{"name": "search", "parameters": {"query": "a"}}', [search("a")]],
  [
    "llama3",
    '<|python_tag|>{"name": "search", "parameters": {"query": "a"}}; {"name": "get_time", "parameters": {}}',
    [search("a"), { name: "get_time", arguments: "{}" }],
  ],
  [
    "mistral",
    '[TOOL_CALLS] [{"name": "search", "arguments": {"query": "a"}}, {"name": "search", "arguments": {"query": "b"}, "id": "a1b2c3d4e"}]',
    [search("a"), search("b")],
  ],
  [
    "mistral-args",
    '[THINK]hm[/THINK]Well[TOOL_CALLS]search[ARGS]{"query": "a"}[TOOL_CALLS]get_time[ARGS]{}',
    [{ reasoning: "hm" }, { text: "Well" }, search("a"), { name: "get_time", arguments: "{}" }],
  ],
  ["mistral-call-id", '[TOOL_CALLS]search[CALL_ID]a1b2c3d4e[ARGS]{"query": "a"}', [search("a")]],
  [
    "deepseek-r1",
    'hm\n</think>\n\n<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>search\n```json\n{"query": "a"}\n```<｜tool▁call▁end｜>\n<｜tool▁call▁begin｜>function<｜tool▁sep｜>get_time\n```json\n{}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>',
    [{ reasoning: "hm" }, search("a"), { name: "get_time", arguments: "{}" }],
  ],
  [
    "deepseek-v3.1",
    'So:<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>search<｜tool▁sep｜>{"query": "a"}<｜tool▁call▁end｜><｜tool▁call▁begin｜>get_time<｜tool▁sep｜>{}<｜tool▁call▁end｜><｜tool▁calls▁end｜>',
    [{ text: "So:" }, search("a"), { name: "get_time", arguments: "{}" }],
  ],
  [
    "command-r7b",
    '<|START_THINKING|>hm<|END_THINKING|><|START_ACTION|>[\n    {"tool_call_id": "0", "tool_name": "search", "parameters": {"query": "a"}},\n    {"tool_call_id": "1", "tool_name": "get_time", "parameters": {}}\n]<|END_ACTION|>',
    [{ reasoning: "hm" }, search("a"), { name: "get_time", arguments: "{}" }],
  ],
  ["command-r7b", "<|START_RESPONSE|>It is 1812.<|END_RESPONSE|>", [{ text: "It is 1812." }]],
  ["functionary", '<function=search>{"query": "a"}</function>', [search("a")]],
  ["phi4", '<|tool_call|>{"name": "search", "arguments": {"query": "a"}}<|/tool_call|>', [search("a")]],
  ["granite", '<|tool_call|>[{"name": "search", "arguments": {"query": "a"}}]', [search("a")]],
];

for (const [i, [name, reply, parts]] of golden.entries()) {
  test(`a reply of ${name} is read (${i})`, () => {
    const prompt = reply.includes("</think>") && !reply.includes("<think>") ? "...<think>\n" : "";
    assert.deepEqual(read(name, reply, { functions, prompt }), parts);
  });
}

test("each format has a reply here", () => {
  const shown = new Set(golden.map(([name]) => name));
  assert.deepEqual(
    replyFormatNames.filter((name) => !shown.has(name)),
    ["generic"],
  );
});

test("without functions nothing is a call, and only reasoning is read", () => {
  const [, call] = golden.find(([, , [part]]) => part !== undefined && "name" in part)!;
  assert.deepEqual(read("hermes", `<think>a</think>${call}`, {}), [{ reasoning: "a" }, { text: call }]);
});

test("reasoning that the prompt has begun goes to its mark, or to the end", () => {
  const prompt = "<|im_start|>assistant\n<think>\n";
  assert.deepEqual(read("hermes", "a < b\n</think>\n\nc", { prompt }), [
    { reasoning: "a < b" },
    { text: "c" },
  ]);
  assert.deepEqual(read("hermes", "a </thi", { prompt }), [{ reasoning: "a </thi" }]);
  assert.deepEqual(read("hermes", "<think>a</think>b", { prompt }), [{ reasoning: "a" }, { text: "b" }]);
  assert.deepEqual(read("hermes", "a", { prompt: "<think>\n\n</think>\n\n" }), [{ text: "a" }]);
});

test("marks of reasoning within an answer are text", () => {
  const answer = "Models write <think> and </think> around it.";
  assert.deepEqual(read("hermes", answer), [{ text: answer }]);
});

test("arguments may come before the name, as text, or not at all; other keys say nothing", () => {
  for (const [call, expected] of [
    ['{"arguments": {"query": "a"}, "name": "search"}', '{"query": "a"}'],
    ['{"id": 5, "name": "search", "x": [1, {"y": null}], "parameters": {"query":  "a"} }', '{"query":  "a"}'],
    ['{"name": "search", "arguments": "{\\"query\\": \\"a\\"}"}', '{"query": "a"}'],
    ['{"name": "search"}', "{}"],
    ['{"name": "search", "arguments": null}', "{}"],
    ['[{"name": "search", "arguments": {}}]', "{}"],
  ] as const) {
    const parts = read("hermes", `<tool_call>${call}</tool_call>`);
    assert.deepEqual(parts, [{ name: "search", arguments: expected }], call);
  }
});

test("what is no call is text, word for word", () => {
  for (const [name, reply] of [
    ["hermes", "a <tool_call>\n no JSON </tool_call> b\n"],
    ["hermes", '<tool_call>{"name": "search"'],
    ["hermes", '<tool_call>{"name": 5, "arguments": {}}</tool_call>'],
    ["hermes", '<tool_call>{"arguments": {}}</tool_call>'],
    ["hermes", '<tool_call>{"name": "search", "arguments": [1]}</tool_call>'],
    ["hermes", '<tool_call>{"name": "search", "arguments": "no object"}</tool_call>'],
    ["hermes", '<tool_call>{"arguments": {"a": 01}, "name": "search"}</tool_call>'],
    ["hermes", `<tool_call>{"name": "${"a".repeat(2000)}", "arguments": {}}</tool_call>`],
    ["hermes", "x <tool_call"],
    ["qwen3-coder", "<tool_call>\n<function>\n</function>"],
    ["llama3", '{"name": "unknown", "parameters": {}}'],
    ["llama3", '{"city": "Paris", "name": "search"}'],
    ["llama3", 'It is {"name": "search", "parameters": {}}'],
    ["mistral", "[TOOL_CALLS] none"],
    ["deepseek-v3.1", "<｜tool▁call▁begin｜>search<｜tool▁sep｜>none"],
  ] as const)
    assert.deepEqual(read(name, reply), [{ text: reply }], reply);
});

test("a call that ends too early has the arguments that were there, and what follows one that goes wrong is text", () => {
  const begun = '<tool_call>{"name": "search", "arguments": {"query": "Cit';
  assert.deepEqual(read("hermes", begun), [{ name: "search", arguments: '{"query": "Cit' }]);
  const wrong = '<tool_call>{"name": "search", "arguments": {"query": "a"]}</tool_call> b';
  const parts = [{ name: "search", arguments: '{"query": "a"' }, { text: "]}</tool_call> b" }];
  assert.deepEqual(read("hermes", wrong), parts);
  const element = "<tool_call><function=search><parameter=query>\nCit \n</par";
  assert.deepEqual(read("qwen3-coder", element), [{ name: "search", arguments: '{"query": "Cit \\n</par' }]);
  const list = '[TOOL_CALLS][{"name": "search", "arguments": {}}, {"nam';
  assert.deepEqual(read("mistral", list), [{ name: "search", arguments: "{}" }, { text: ', {"nam' }]);
});

test("the beginning of the mark that ends a call is no text", () => {
  const call = { name: "search", arguments: '{"query": "a"}' };
  const text = '<tool_call>{"name": "search", "arguments": {"query": "a"}}\n</tool_';
  assert.deepEqual(read("hermes", text), [call]);
  assert.deepEqual(read("hermes", `${text}x`), [call, { text: "</tool_x" }]);
});

test("arguments in XML become what the schema asks for", () => {
  const types = {
    text: { type: "string" },
    count: { type: "integer" },
    flag: { type: "boolean" },
    either: { anyOf: [{ type: "string" }, { type: "null" }] },
    list: { type: "array" },
    kind: { enum: ["a", "1"] },
  };
  const reader = { functions: [{ name: "f", parameters: { type: "object", properties: types } }] };
  const written = {
    ...{ text: "1", count: "-3", flag: "True", either: "null", list: "[1]", kind: "1", unknown: "7" },
  };
  const elements = Object.entries(written).map(
    ([key, value]) => `<parameter=${key}>\n${value}\n</parameter>\n`,
  );
  const [call] = read("qwen3-coder", `<tool_call>\n<function=f>\n${elements.join("")}</function>`, reader);
  assert.ok(call !== undefined && "arguments" in call);
  const expected = { text: "1", count: -3, flag: true, either: null, list: [1], kind: "1", unknown: 7 };
  assert.deepEqual(JSON.parse(call.arguments), expected);
  const loose = ["text", "count", "either"].map((key) => `<parameter=${key}>two\n words</parameter>`);
  const [other] = read(
    "qwen3-coder",
    `<tool_call><function=f>${loose.join("")}</function></tool_call>`,
    reader,
  );
  assert.ok(other !== undefined && "arguments" in other);
  const words = "two\n words";
  assert.deepEqual(JSON.parse(other.arguments), { text: words, count: words, either: words });
});

test("a call in XML without its mark is a call all the same", () => {
  const reply = "I look.\n<function=search>\n<parameter=query>\na\n</parameter>\n</function>\n</tool_call>";
  assert.deepEqual(read("qwen3-coder", reply), [{ text: "I look." }, search("a")]);
});

test("arguments come while they are written", () => {
  const reader = new ReplyReader<number>(replyFormatNamed("hermes"), { functions });
  const push = (text: string): string[] =>
    reader.push({ text, tokens: [] }).map((event) => ("text" in event ? event.text : event.name));
  assert.deepEqual(push("Hm <"), ["Hm"]);
  assert.deepEqual(push("b> <tool"), [" <b>"]);
  assert.deepEqual(push('_call>{"name": "search", '), []);
  assert.deepEqual(push('"arguments": {"query'), ["search", '{"query']);
  assert.deepEqual(push('": "Who is'), ['": "Who is']);
  assert.deepEqual(push('?"}}</tool'), ['?"}']);
  assert.deepEqual(push("_call>\n"), []);
});

test("a model's own call id is kept, and others are unlike each other", () => {
  const ids = (name: string, text: string): string[] =>
    new ReplyReader<number>(replyFormatNamed(name), { functions })
      .push({ text, tokens: [] })
      .flatMap((event) => (event.type === "toolCall" ? [event.id] : []));
  const [, own] = golden.find(([name]) => name === "mistral-call-id")!;
  assert.deepEqual(ids("mistral-call-id", own), ["a1b2c3d4e"]);
  const [, two] = golden.find(([name]) => name === "deepseek-v3.1")!;
  assert.equal(new Set(ids("deepseek-v3.1", two)).size, 2);
});

test("texts made of marks at random are read alike however they are cut, and nothing throws", () => {
  for (const name of replyFormatNames) {
    const format = replyFormatNamed(name);
    const replies = golden.filter(([each]) => each === name || name === "generic").map(([, reply]) => reply);
    const random = randomNumbers(name.length);
    const words = replies.flatMap((reply) => reply.split(/(?<=[>\]}",\s|])/));
    for (let round = 0; round < 60; round++) {
      const some = Array.from({ length: 12 }, () => words[Math.floor(random() * words.length)] as string);
      const text = some.join("");
      const whole = readPieces(format, [{ text, tokens: [1] }]);
      assert.deepEqual(readPieces(format, cut(text, 3, round)), whole, JSON.stringify(text));
    }
  }
});

// Time quadratic in the length would be hours.
test("hostile texts of a megabyte are read in time linear in their length", { timeout: 120_000 }, () => {
  const hostile: Readonly<Record<string, readonly (readonly [before: string, word: string])[]>> = {
    hermes: [
      ["", "<"],
      ["", " "],
      ["", " <tool_call> "],
      ['<tool_call>{"arguments": ', "["],
      ['<tool_call>{"name": "search", "arguments": ', '{"a":'],
      ['<tool_call>{"name": "', "a"],
      ['<tool_call>{"x": "', "\\u0041"],
      ["<think>", "</think"],
    ],
    "qwen3-coder": [["<tool_call><function=search><parameter=query>", "\n</parameter"]],
    llama3: [["{", '"name":']],
    mistral: [["", "[TOOL_CALLS]["]],
    "deepseek-r1": [["", "<｜tool▁call▁begin｜>a"]],
  };
  for (const [name, texts] of Object.entries(hostile)) {
    for (const [before, word] of texts) {
      const format = replyFormatNamed(name);
      const text = (length: number): string => before + word.repeat(length / word.length);
      readPieces(format, [{ text: text(1 << 20), tokens: [0] }]);
      readPieces(format, cut(text(1 << 17), 4, 1));
    }
  }
});
