/** The parser of turns: which action a text holds, for any text at all. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { lastAnswer, parseTurn, splitQueries } from "../../../lib/rollout/grammars/grammar.ts";
import { dice } from "../../dice.ts";
import { processorMs } from "../../processor-time.ts";

const pieces = [
  "<search>",
  "</search>",
  "<answer>",
  "</answer>",
  "<think>",
  "</think>",
  ",",
  '"',
  " ",
  "a",
  "\n",
  "<",
  "é",
];

function randomText(roll: (below: number) => number, length: number): string {
  return Array.from({ length }, () => pieces[roll(pieces.length)]).join("");
}

test("a search gives its query, an answer its text, both trimmed", () => {
  const search = parseTurn("<think> who? </think>\n<search> capital of France </search>");
  assert.deepEqual(search, { kind: "search", queries: ["capital of France"], dropped: 0, end: 58 });
  const answer = parseTurn("<answer>\n Paris \n</answer>");
  assert.equal(answer.kind === "answer" && answer.answer, "Paris");
});

test("the action that opens first wins when it is complete", () => {
  assert.equal(parseTurn("<answer> a </answer><search> q </search>").kind, "answer");
  assert.equal(parseTurn("<search> q </search><answer> a </answer>").kind, "search");
  assert.equal(parseTurn("<answer> a <search> q </search>").kind, "search");
});

test("a turn without a complete action is invalid", () => {
  for (const text of [
    "",
    "Paris",
    "<search> q",
    "q </search>",
    "</answer><answer>",
    "<search> q </answer>",
  ]) {
    assert.deepEqual(parseTurn(text), { kind: "invalid", reason: "no action" }, text);
  }
});

test("a search for nothing is invalid", () => {
  assert.deepEqual(parseTurn("<search> </search>"), { kind: "invalid", reason: "no query" });
  assert.deepEqual(parseTurn("<search> , ,</search>", { mode: "multi" }), {
    kind: "invalid",
    reason: "no query",
  });
});

test("text after the closing tag is outside of the action", () => {
  const text = "<search> q </search> and more";
  const action = parseTurn(text);
  assert.equal(action.kind === "search" && text.slice(action.end), " and more");
});

test("queries are separated by commas, except inside of double quotes", () => {
  assert.deepEqual(splitQueries(" one, two ,,three "), ["one", "two", "three"]);
  assert.deepEqual(splitQueries('"Paris, Texas" history, "a, b"'), ['"Paris, Texas" history', "a, b"]);
  assert.deepEqual(splitQueries('"open, but not closed'), ['"open', "but not closed"]);
  assert.deepEqual(splitQueries('5" nails, 6" nails'), ['5" nails', '6" nails']);
});

test("one query a turn keeps its commas", () => {
  const action = parseTurn("<search> Paris, Texas </search>");
  assert.deepEqual(action.kind === "search" && action.queries, ["Paris, Texas"]);
});

test("queries beyond the third are dropped and counted", () => {
  const action = parseTurn("<search> a,b,c,d,e </search>", { mode: "multi" });
  assert.deepEqual(action.kind === "search" && [action.queries, action.dropped], [["a", "b", "c"], 2]);
  const two = parseTurn("<search> a,b,c </search>", { mode: "multi", maxQueries: 2 });
  assert.deepEqual(two.kind === "search" && two.queries, ["a", "b"]);
});

test("random text parses or is invalid, and never throws", () => {
  const roll = dice(7);
  const kinds = new Set<string>();
  for (let i = 0; i < 5000; i++) {
    const text = randomText(roll, roll(30));
    const action = parseTurn(text, { mode: i % 2 ? "multi" : "single" });
    kinds.add(action.kind);
    if (action.kind === "search") assert.ok(action.queries.length >= 1 && action.queries.length <= 3);
    if (action.kind === "search" || action.kind === "answer")
      assert.match(text.slice(0, action.end), /<\/(search|answer)>$/);
  }
  assert.deepEqual([...kinds].sort(), ["answer", "invalid", "search"]);
});

test("random bytes parse or are invalid, and never throw", () => {
  const roll = dice(13);
  const decoder = new TextDecoder();
  for (let i = 0; i < 2000; i++) {
    const bytes = Uint8Array.from({ length: roll(200) }, () => roll(256));
    const text = `<search>${decoder.decode(bytes)}</search>`;
    const action = parseTurn(text, { mode: "multi" });
    assert.ok(action.kind === "search" || (action.kind === "invalid" && action.reason === "no query"), text);
  }
});

test("the first action equals that of the original's regular expression", () => {
  const roll = dice(11);
  for (let i = 0; i < 5000; i++) {
    const text = randomText(roll, roll(12));
    const match = /<(search|answer)>(.*?)<\/\1>/s.exec(text);
    const action = parseTurn(text);
    const expected =
      match === null ? "invalid" : match[1] === "search" && match[2]?.trim() === "" ? "invalid" : match[1];
    assert.equal(action.kind, expected, text);
  }
});

test("reading a text takes time linear in its length", () => {
  const size = 400_000;
  for (const piece of ["<search>", "<answer>", "<search> a,", '",', '"', ",", "<answer></answer>", "< "]) {
    const text = `<search>${piece.repeat(size / piece.length)}`;
    const spent = processorMs(() => [parseTurn(`${text}</search>`, { mode: "multi" }), lastAnswer(text)]);
    assert.ok(spent < 1000, `${piece} took ${spent} ms`);
  }
});
