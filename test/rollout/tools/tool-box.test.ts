/** Tools and the box that runs them. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import { tool } from "../../../lib/rollout/tools/tool.ts";
import { type ToolCall, toolBox } from "../../../lib/rollout/tools/tool-box.ts";

const echo = tool({
  name: "echo",
  description: "Says it again.",
  input: z.object({
    text: z.string().describe("what to say"),
    times: z.int().min(1).max(3).default(1),
  }),
  run: ({ text, times }) => text.repeat(times),
});
const hanging = tool({
  name: "hang",
  description: "Never answers, and does not listen to its signal.",
  input: z.object({}),
  run: () => new Promise<string>(() => {}),
});
const broken = tool({
  name: "break",
  description: "Fails.",
  input: z.object({ how: z.enum(["throw", "reject", "nothing"]) }),
  run: ({ how }) => {
    if (how === "throw") throw new Error("thrown");
    return how === "reject" ? Promise.reject("rejected") : (undefined as unknown as string);
  },
});

const call = (name: string, input: unknown): ToolCall => ({ name, input, text: "" });

test("the schema that the model reads is the input's JSON schema", () => {
  assert.deepEqual(echo.inputSchema, {
    type: "object",
    properties: {
      text: { type: "string", description: "what to say" },
      times: { type: "integer", minimum: 1, maximum: 3, default: 1 },
    },
    required: ["text"],
  });
});

test("calls of one turn run at the same time", async () => {
  let started = 0;
  let begin = (): void => {};
  const all = new Promise<void>((resolve) => {
    begin = resolve;
  });
  const meeting = tool({
    name: "meet",
    description: "Waits for two others.",
    input: z.object({}),
    run: async () => {
      started += 1;
      if (started === 3) begin();
      await all;
      return "met";
    },
  });
  const results = await toolBox([meeting]).run([call("meet", {}), call("meet", {}), call("meet", {})]);
  assert.deepEqual(
    results.map(({ text }) => text),
    ["met", "met", "met"],
  );
});

test("calls of one turn run together, and a hanging or failing one costs the others nothing", async () => {
  const { run } = toolBox([echo, hanging, broken], { timeoutMs: 50 });
  const results = await run([
    call("hang", {}),
    call("echo", { text: "a", times: 2 }),
    call("break", { how: "throw" }),
    call("hang", {}),
    call("break", { how: "reject" }),
    call("break", { how: "nothing" }),
  ]);
  assert.deepEqual(
    results.map(({ text, failure }) => [text, failure?.kind]),
    [
      ["Error: hang: no result within 50 ms", "timed out"],
      ["aa", undefined],
      ["Error: break: thrown", "failed"],
      ["Error: hang: no result within 50 ms", "timed out"],
      ["Error: break: rejected", "failed"],
      ["Error: break: expected an output, got nothing", "failed"],
    ],
  );
});

test("a call that asks for what there is not is told the field, the expected and the actual", async () => {
  const { run } = toolBox([echo]);
  const results = await run([
    call("ecko", {}),
    call("echo", { text: 3, times: 9 }),
    call("echo", {}),
    call("echo", null),
    call("echo", [1]),
    { name: "", input: {}, text: "{", fault: "expected JSON" },
  ]);
  assert.deepEqual(
    results.map(({ failure }) => [failure?.kind, failure?.message]),
    [
      ["unknown tool", 'there is no tool "ecko"; the tools are echo'],
      [
        "invalid input",
        "echo: text: expected string, got 3; times: Too big: expected number to be <=3, got 9",
      ],
      ["invalid input", "echo: text: expected string, got nothing"],
      ["invalid input", "echo: input: expected object, got null"],
      ["invalid input", "echo: input: expected object, got [1]"],
      ["malformed", "expected JSON"],
    ],
  );
});

test("bare text fills the main property, and may be an input in JSON", async () => {
  const { run } = toolBox([echo]);
  const texts = [" hello ", '{"text": "b", "times": 3}', "{not JSON}"];
  const results = await run(texts.map((text) => call("echo", text)));
  assert.deepEqual(
    results.map(({ text }) => text),
    ["hello", "bbb", "{not JSON}"],
  );
});

test("calls beyond the most of a turn are answered but not run", async () => {
  let runs = 0;
  const counter = tool({
    name: "count",
    description: "Counts.",
    input: z.object({}),
    run: () => `${++runs}`,
  });
  const results = await toolBox([counter], { maxCalls: 2 }).run(
    Array.from({ length: 5 }, () => call("count", {})),
  );
  assert.deepEqual(
    results.map(({ failure }) => failure?.kind),
    [undefined, undefined, "too many calls", "too many calls", "too many calls"],
  );
  assert.equal(runs, 2);
});

test("whoever leaves is let go at once, and a tool hears of it", async () => {
  const heard: boolean[] = [];
  const listening = tool({
    name: "listen",
    description: "Waits for its signal.",
    input: z.object({}),
    run: (_, { signal }) =>
      new Promise<string>(() => signal.addEventListener("abort", () => heard.push(signal.aborted))),
  });
  const { run } = toolBox([listening]);
  const stop = new AbortController();
  const results = run([call("listen", {})], { signal: stop.signal });
  setTimeout(() => stop.abort(), 10);
  assert.equal((await results)[0]?.failure?.kind, "aborted");
  assert.deepEqual(heard, [true]);
  assert.equal((await run([call("listen", {})], { signal: stop.signal }))[0]?.failure?.kind, "aborted");
});

test("results are well-formed text of bounded length", async () => {
  const { run } = toolBox([echo], { maxChars: 3 });
  const results = await run([call("echo", { text: "ab😀" }), call("echo", { text: "\ud800x" })]);
  assert.deepEqual(
    results.map(({ text }) => text),
    ["ab", "\ufffdx"],
  );
});

test("names that no model could call, and names given twice, are refused", () => {
  const named = (name: string) => tool({ name, description: "", input: z.object({}), run: () => "" });
  for (const name of ["", "two words", "x".repeat(65), "a\n"]) {
    assert.throws(() => named(name), { code: "ERR_ARGUMENT" });
  }
  assert.throws(() => toolBox([named("a"), named("a")]), {
    code: "ERR_ARGUMENT",
    message: "tools: expected names of their own, got a twice",
  });
});
