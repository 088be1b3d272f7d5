/** The conversation of Agentic-RAG-R1: what the policy is told, how its turns are read, what it is answered. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { agenticFormat } from "../../../lib/rollout/formats/agentic-rag.ts";
import { agenticBlocks, agenticTags } from "../../../lib/rollout/grammars/agentic-grammar.ts";
import { labelledSearch } from "../../../lib/search/labelled.ts";
import type { Hit, Search } from "../../../lib/search/search.ts";
import { processorMs } from "../../processor-time.ts";

const tools = [
  { name: "Wiki_RAG", description: "an encyclopedia." },
  { name: "Web_RAG", description: "the web." },
] as const;

function read(turn: string, format = agenticFormat({ tools })) {
  return format.parse(turn, format);
}

test("each action is read, and a search asks each of its tools", () => {
  for (const tag of ["plan", "reasoning", "backtrack", "summary"] as const) {
    const action = read(`\n<${tag}> text </${tag}>`);
    assert.deepEqual([action.kind, "content" in action && action.content], [tag, "text"]);
  }
  const answer = read("<answer> Rome </answer>");
  assert.deepEqual([answer.kind, "answer" in answer && answer.answer], ["answer", "Rome"]);
  const rows: [string, readonly string[]][] = [
    ["[Wiki_RAG] Rome, Italy", ["[Wiki_RAG] Rome, Italy"]],
    ['[Web_RAG]: "Rome"', ["[Web_RAG] Rome"]],
    ["Rome", ["[Wiki_RAG] Rome"]],
    ["[Wiki_RAG] Rome\n[Web_RAG] Oslo", ["[Wiki_RAG] Rome", "[Web_RAG] Oslo"]],
  ];
  for (const [content, queries] of rows) {
    const action = read(`<search> ${content} </search>`);
    assert.deepEqual(action.kind === "search" && action.queries, queries, content);
  }
});

test("a search for nothing is invalid, and paths beyond the most are dropped and counted", () => {
  for (const content of ["", "[Wiki_RAG]", '[Wiki_RAG]: ""']) {
    assert.deepEqual(read(`<search>${content}</search>`), { kind: "invalid", reason: "no query" });
  }
  const format = agenticFormat({ maxQueries: 2 });
  const action = read("<search>[Wiki_RAG] a\n[Wiki_RAG] b\n[Wiki_RAG] c</search>", format);
  assert.ok(action.kind === "search");
  assert.deepEqual([action.queries, action.dropped, format.mode], [["a", "b"], 1, "multi"]);
  assert.equal(agenticFormat({ maxQueries: 1 }).mode, "single");
});

test("instructions name every action, every tool and what is forgotten, in both languages", () => {
  for (const language of ["en", "zh"] as const) {
    const { system = "", prompt, memory } = agenticFormat({ tools, language });
    for (const tag of agenticTags)
      assert.ok(system.includes(`<${tag}>`) && system.includes(`</${tag}>`), tag);
    for (const { name, description } of tools) assert.ok(system.includes(`- [${name}] ${description}`));
    assert.equal(prompt(" who? "), "who?");
    assert.equal(memory?.condenses, "all");
  }
  assert.match(agenticFormat({ language: "zh" }).system ?? "", /计划|什么顺序/);
  assert.match(agenticFormat({ language: "zh" }).invalid, /动作/);
});

test("with self-search the policy is shown no tool and nobody is asked", () => {
  for (const language of ["en", "zh"] as const) {
    const format = agenticFormat({ tools, language, selfSearch: true });
    assert.ok(!format.system?.includes("Wiki_RAG"));
    assert.ok(!format.turnEnds.includes("</search>") && format.turnEnds.includes("</observation>"));
    const action = read("<search> Rome </search><observation> a city </observation>", format);
    assert.deepEqual(action.kind === "search" && action.queries, []);
    assert.equal(
      format.observation([], [], (text) => text),
      "",
    );
  }
});

test("faithful prompts are the original's layout: bare, without a plan, nothing forgotten", () => {
  const { prompt, isBare, memory, system, lastTurn, turnEnds } = agenticFormat({ faithful: true });
  assert.deepEqual([isBare, memory, system, lastTurn], [true, undefined, undefined, ""]);
  assert.deepEqual(turnEnds, ["</search>", "</answer>"]);
  const text = prompt("who?");
  assert.match(text, /^<system instruction>\n[\s\S]+\n<\/system instruction>\n<query>\nwho\?\n<\/query>$/);
  assert.ok(!text.includes("<plan>") && !text.includes("out of your sight"));
  const format = agenticFormat({ faithful: true });
  assert.deepEqual(read("no tag at all", format), { kind: "end" });
  const action = read("<backtrack> b </backtrack><search>[Wiki_RAG]: Rome</search>", format);
  assert.deepEqual(action.kind === "search" && action.queries, ["Rome"]);
});

test("a text of one's own replaces ours, as a system message or as the whole prompt", () => {
  const asSystem = agenticFormat({ promptText: "Use these:\n{tools}", tools });
  assert.equal(asSystem.system, "Use these:\n- [Wiki_RAG] an encyclopedia.\n- [Web_RAG] the web.");
  assert.equal(asSystem.isBare, undefined);
  const whole = agenticFormat({ promptText: "Q: {question}\nA:" });
  assert.deepEqual([whole.isBare, whole.prompt("a $& b?")], [true, "Q: a $& b?\nA:"]);
});

test("one query is answered with its documents, several with a path each", () => {
  const { observation } = agenticFormat();
  const found = [{ title: "Rome", text: "a\ncity" }];
  assert.equal(
    observation(["q"], [found], (text) => text),
    "\n<observation>\n- Rome: a city\n</observation>\n",
  );
  assert.equal(
    observation(["q", "r"], [found, []], (text) => text),
    "\n<observation>\n[path1] q\n- Rome: a city\n[/path1]\n[path2] r\nNothing was found.\n[/path2]\n</observation>\n",
  );
});

test("blocks are found whatever stands around them, and the first fault is named", () => {
  const rows: [string, string[], string | undefined][] = [
    ["<plan>a</plan>\n<search>b</search>", ["plan", "search"], undefined],
    ["well <plan>a</plan>", ["plan"], "words outside of tags"],
    ["<plan>a <search>b</search></plan>", ["plan"], "<search> stands inside of <plan>"],
    ["</plan>", [], "</plan> closes nothing"],
    ["<answer>a", [], "<answer> is not closed"],
    ["", [], undefined],
  ];
  for (const [text, tags, fault] of rows) {
    const cut = agenticBlocks(text);
    assert.deepEqual([cut.blocks.map(({ tag }) => tag), cut.fault], [tags, fault], text);
  }
});

test("reading takes time linear in the text, for texts that never close what they open", () => {
  const format = agenticFormat({ tools });
  for (const part of ["<search>", "<plan>[", "[Wiki_RAG]", "</plan><plan>", "<search>[Wiki_RAG] a\n"]) {
    const text = part.repeat(200_000 / part.length);
    const spent = processorMs(() => [agenticBlocks(text), read(`<search>${text}</search>`, format)]);
    assert.ok(spent < 2000, `${part} took ${spent} ms`);
  }
});

test("a labelled query reaches the search of that name, and answers come back in order", async () => {
  const asked: string[] = [];
  const named =
    (name: string): Search =>
    async (queries) => {
      asked.push(...queries.map((query) => `${name} ${query}`));
      return queries.map((query): Hit[] => [{ id: query, title: name, text: query, score: 1 }]);
    };
  const search = labelledSearch({ A: named("first"), B: named("second") });
  const found = await search(["[B] x", "[A] y", "[C] z", "[B] w"], { topK: 1 });
  assert.deepEqual(
    found.map(([hit]) => `${hit?.title} ${hit?.text}`),
    ["second x", "first y", "first [C] z", "second w"],
  );
  assert.deepEqual(asked, ["second x", "second w", "first y", "first [C] z"]);
});
