/** Search-R1's rewards: the table of its format reward, and the leaks of reading the whole text. */
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  formatReward,
  isWellFormed,
  retrievalReward,
  wholeTextEmReward,
} from "../../../lib/reward/systems/search-r1.ts";
import { agenticFormat } from "../../../lib/rollout/formats/agentic-rag.ts";
import { type Format, ragFormat } from "../../../lib/rollout/formats/format.ts";
import { originalRagFormat } from "../../../lib/rollout/formats/original-rag.ts";
import { toolFormat } from "../../../lib/rollout/formats/tool-format.ts";
import { calculatorTool } from "../../../lib/rollout/tools/built-in/calculator.ts";
import { asks, segment, spoken, trajectory } from "../spoken.ts";

const search = "<think> who? </think> <search> q </search>";
const found = "\n<information>\nDoc 1: Rome\n</information>\n";
const answer = (text: string): string => `<think> so </think>\n<answer> ${text} </answer>`;
const scores = { structure: 0.2, final: 0.1, retrieval: 0.05 };

test("the reward is the one of the original's table, read whole or from the policy alone", () => {
  const rows: [number, string[], string][] = [
    [1, [answer("Rome")], "right and well formed"],
    [1, [search, found, answer("Rome")], "right and well formed with a search"],
    [0.8, ["<answer> Rome </answer>"], "right"],
    [0.25, [search, found, answer("Oslo")], "wrong, but found and well formed"],
    [0.2, [search, "\n<information>\nnothing\n</information>\n", answer("Oslo")], "wrong but well formed"],
    [0.1, ["<answer> Oslo </answer>"], "wrong"],
  ];
  for (const [expected, texts, what] of rows) {
    assert.equal(formatReward(scores)(spoken(...texts), asks("Rome")), expected, what);
    const prompt = segment("prompt", "<answer> and </answer><|im_start|>assistant\n");
    const whole = { ...trajectory(prompt, ...spoken(...texts).segments) };
    assert.equal(formatReward({ ...scores, faithful: true })(whole, asks("Rome")), expected, what);
  }
  assert.equal(formatReward(scores)(spoken("<think> I do not know"), asks("Rome")), 0);
});

test("only thought, search and observation in turn, then thought and answer, are well formed", () => {
  const wrong = [
    [search, found, "<answer> Rome </answer>"],
    [`${answer("Rome")} and more`],
    [`Well. ${answer("Rome")}`],
    [`${search}${found}${answer("Rome")}`],
    ["<think> a <think> b </think> </think> <answer> Rome </answer>"],
    [search, found],
    ["no action", "try again", answer("Rome")],
    ["<think> a </think>", "try again", answer("Rome")],
    [answer("</think>")],
  ];
  for (const texts of wrong) assert.equal(isWellFormed(spoken(...texts)), false, texts.join("|"));
});

test("a mark that ends the turn may follow the answer", () => {
  for (const mark of ["<|im_end|>", "<|end|>\n", "</s>"]) {
    assert.equal(isWellFormed(spoken(answer("Rome") + mark)), true, mark);
  }
});

test("tags in an observation break the form only when the whole text is read", () => {
  const spiked = [
    search,
    "\n<information>\n</think><answer> Rome </answer>\n</information>\n",
    answer("Rome"),
  ];
  assert.equal(isWellFormed(spoken(...spiked)), true);
  const prompt = segment("prompt", "<|im_start|>assistant");
  const whole = trajectory(prompt, ...spoken(...spiked).segments);
  assert.equal(formatReward({ faithful: true })(whole, asks("Rome")), 0.8);
});

test("read whole, a policy without an answer has said what the prompt says, or the reply to an invalid turn", () => {
  const { prompt, invalid } = originalRagFormat("multi", "rag-r1");
  const asked = segment("prompt", prompt("which city?"));
  const silent = trajectory(asked, segment("policy", "<think> no idea </think>"));
  assert.equal(wholeTextEmReward(silent, asks("Beijing")), 1);
  const corrected = trajectory(...silent.segments, segment("observation", invalid));
  assert.equal(wholeTextEmReward(corrected, asks("Beijing")), 0);
  assert.equal(wholeTextEmReward(corrected, asks("and")), 1);
});

test("one answer in a text that has no other is not found when the whole text is read", () => {
  assert.equal(wholeTextEmReward(spoken("<answer> Rome </answer>"), asks("Rome")), 0);
});

test("a query that names the answer is no retrieval, though observations repeat it", () => {
  const documents = [[{ title: "Oslo", text: "Oslo is a city" }], [{ title: "Bergen", text: "another" }]];
  const tell = (format: Format): string => format.observation(["Rome", "b"], documents, (text) => text);
  const call = '{"name": "search", "arguments": {"query": "Rome"}}';
  const formats = {
    "RAG-R1": tell(ragFormat("multi")),
    "RAG-R1 faithfully": tell(originalRagFormat("multi", "rag-r1")),
    "Agentic-RAG-R1": tell(agenticFormat()),
    ReCall: toolFormat([calculatorTool()]).observation([call], documents, (text) => text),
    tags: tell(ragFormat("single")),
  };
  for (const [name, text] of Object.entries(formats)) {
    assert.equal(retrievalReward(spoken(search, text), asks("Rome", "information", "observation")), 0, name);
    assert.equal(retrievalReward(spoken(search, text), asks("Oslo")), 1, name);
  }
});

test("a retrieval counts when an accepted answer was found", () => {
  assert.equal(retrievalReward(spoken(search, found), asks("rome")), 1);
  assert.equal(retrievalReward(spoken("Rome", "nothing"), asks("Rome")), 0);
});
