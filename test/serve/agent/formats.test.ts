/** What of an agent's words is thought, search and answer, in every format, however the words are cut. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { agenticFormat } from "../../../lib/rollout/formats/agentic-rag.ts";
import { type Format, ragFormat } from "../../../lib/rollout/formats/format.ts";
import { originalRagFormat } from "../../../lib/rollout/formats/original-rag.ts";
import { r1SearcherFormat } from "../../../lib/rollout/formats/r1-searcher.ts";
import { reSearchFormat } from "../../../lib/rollout/formats/re-search.ts";
import { toolFormat } from "../../../lib/rollout/formats/tool-format.ts";
import { defaultMemory } from "../../../lib/rollout/memory.ts";
import { calculatorTool } from "../../../lib/rollout/tools/built-in/calculator.ts";
import { toolBox } from "../../../lib/rollout/tools/tool-box.ts";
import { ForgetfulSequence } from "../../rollout/doubles.ts";
import { ofType, replied, scripted, summary } from "./asking.ts";

const thoughts = "who?\n\nnow I know";

const cases: Record<string, { format: Format; turns: string[]; said: string; thought?: string }> = {
  "RAG-R1": {
    format: ragFormat("multi"),
    turns: [
      "<think> who? </think>\n<search> a, b </search>",
      "<think> now I know </think> <answer> x y </answer>",
    ],
    said: "x y",
  },
  "RAG-R1 as it was": {
    format: originalRagFormat("single", "rag-r1"),
    turns: ["<think> who? </think><search> a </search>", "<think> now I know </think><answer>x</answer>"],
    said: "x",
  },
  "thoughts without tags": {
    format: ragFormat("single"),
    turns: ["who?\n<search> a </search>", "now I know\n\n<answer>\n x </answer>"],
    said: "x",
  },
  ReSearch: {
    format: reSearchFormat(),
    turns: [
      "<think> who? </think> <search> a </search>",
      "<think> now I know </think> <answer> It is \\[ \\boxed{x} \\] </answer>",
    ],
    said: "x",
  },
  "R1-Searcher": {
    format: r1SearcherFormat(),
    turns: [" who? <|begin_of_query|> a <|end_of_query|>", " now I know </think> <answer> x </answer>"],
    said: "x",
  },
  "Agentic-RAG-R1 without memory": {
    format: agenticFormat({ faithful: true }),
    turns: [
      "<reasoning> who? </reasoning><search> a </search>",
      "<summary> now I know </summary><answer> x </answer>",
    ],
    said: "x",
  },
};

for (const [name, { format, turns, said }] of Object.entries(cases)) {
  test(`${name}: thoughts are reasoning, queries are searches, the answer is text`, async () => {
    const events = await replied(scripted(turns, { format }), "q");
    assert.deepEqual(summary(events), { thought: thoughts, said, reason: "stop" });
    assert.equal(ofType(events, "search").length, 2);
    const [begun, ended] = ofType(events, "search");
    assert.deepEqual([begun?.passages, begun?.queries], [undefined, ended?.queries]);
    assert.equal(ended?.passages?.length, ended?.queries.length);
  });
}

test("calls of tools are searches, and the answer in a box is text", async () => {
  const tools = toolBox([calculatorTool()]);
  const call = '{"name": "calculator", "arguments": {"expression": "6*7"}}';
  const turns = [` who? </think> <tool_call>${call}</tool_call>`, " now I know </think> It is \\boxed{42}."];
  const events = await replied(scripted(turns, { format: toolFormat(tools.tools), tools }), "6 times 7?");
  assert.deepEqual(summary(events), { thought: `${thoughts}\n\nIt is`, said: "42", reason: "stop" });
  assert.deepEqual(
    ofType(events, "search").map(({ queries, passages }) => [queries, passages?.[0]?.[0]?.text]),
    [
      [[call], undefined],
      [[call], "42"],
    ],
  );
});

test("on a memory stack every frame but the answer is reasoning, and an answer that is doubted is too", async () => {
  const turns = [
    "<plan> a </plan>",
    "<answer> too early </answer>",
    "<search> [Wiki_RAG] b </search>",
    "<summary> c </summary>",
    "<answer> d </answer>",
  ];
  const format = agenticFormat({ memory: { ...defaultMemory, stateValue: "none", minActions: 3 } });
  const engine = { open: () => new ForgetfulSequence("q", ...turns) };
  const events = await replied(scripted([], { format, engine, limits: { maxTurns: 9 } }), "q");
  assert.deepEqual(summary(events), { thought: "a\n\ntoo early\n\nc", said: "d", reason: "stop" });
  assert.deepEqual(ofType(events, "search")[0]?.queries, ["b"]);
});

test("the answer is told from its first token on, before the turn is over", async () => {
  const events = await replied(scripted(["<answer> one two </answer>"]), "q");
  assert.deepEqual(
    ofType(events, "text").map(({ text }) => text),
    ["o", "n", "e", " t", "w", "o"],
  );
  const [finish] = ofType(events, "finish");
  assert.equal(finish?.numTokens, "<answer> one two </answer>".length);
  assert.equal(finish?.numReasoningTokens, "<answer>".length);
});

test("every sampled token is told once: with a thought, with the answer, or at the end", async () => {
  const turns = ["<think> a b </think>\n<search> c </search>", "<answer> d </answer>!"];
  const events = await replied(scripted(turns), "q");
  const told = events.flatMap((event) => ("tokens" in event ? event.tokens : []));
  const codes = (ids: Iterable<number>): number[] => [...ids].sort((a, b) => a - b);
  assert.deepEqual(
    codes(told.map(({ id }) => id)),
    codes(Array.from(turns.join(""), (unit) => unit.charCodeAt(0))),
  );
  for (const { text, tokens } of ofType(events, "text")) {
    assert.equal(
      tokens
        .map(({ id }) => String.fromCharCode(id))
        .join("")
        .trim(),
      text.trim(),
    );
  }
});

test("an answer that its turn leaves open is the reply; tokens that ran out make it too long", async () => {
  const open = "<answer> Paris";
  const ids = Int32Array.from(open, (unit) => unit.charCodeAt(0));
  for (const [stop, reason] of [
    ["eos", "stop"],
    ["length", "length"],
  ] as const) {
    const events = await replied(scripted([{ ids, stop }, "<answer> other </answer>"]), "q");
    assert.deepEqual(summary(events), { thought: "", said: "Paris", reason });
  }
});

test("a reply without an answer says nothing, and says why", async () => {
  const search = "<search> a </search>";
  const ended = async (turns: string[], maxTurns: number) =>
    summary(await replied(scripted(turns, { limits: { maxTurns } }), "q"));
  assert.deepEqual(await ended([search, search], 2), { thought: "", said: "", reason: "length" });
  assert.deepEqual(await ended(["well"], 1), { thought: "well", said: "", reason: "stop" });
  assert.deepEqual(await ended(["<answer> </answer>"], 1), { thought: "", said: "", reason: "stop" });
});
