/** The parser of memory-stack turns: which action a text holds, for any text at all. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { stackParser, stackTurnEnds } from "../../../lib/rollout/grammars/stack-grammar.ts";
import { dice } from "../../dice.ts";
import { processorMs } from "../../processor-time.ts";

const parse = stackParser();
const names = ["plan", "reasoning", "search", "backtrack", "summary", "answer"];

const pieces = [...names.flatMap((name) => [`<${name}>`, `</${name}>`]), " ", "a", ",", "<", "</", "\n", "é"];

function randomText(roll: (below: number) => number, length: number): string {
  return Array.from({ length }, () => pieces[roll(pieces.length)]).join("");
}

test("every action is read from tags of its own name", () => {
  const kinds = names.map((name) => parse(`\n<${name}> one thing </${name}>`, {}).kind);
  assert.deepEqual(kinds, names);
  assert.deepEqual(
    stackTurnEnds(),
    names.map((name) => `</${name}>`),
  );
});

test("a thought says where its text begins and where the action ends", () => {
  const text = "so <reasoning> both are rivers </reasoning>\n";
  const action = parse(text, {});
  assert.ok(action.kind === "reasoning");
  assert.equal(action.content, "both are rivers");
  assert.equal(text.slice(action.start, action.end), " both are rivers </reasoning>");
});

test("the action that closes first counts, whatever is left open around it", () => {
  assert.equal(parse("<reasoning> so: <search> rivers </search>", {}).kind, "search");
  assert.equal(parse("<plan> a </plan><answer> b </answer>", {}).kind, "plan");
  assert.equal(parse("</summary><plan> a </plan>", {}).kind, "plan");
});

test("several queries of one search are as many paths, and none is no action", () => {
  const both = parse('<search> "Paris, Texas", Rome </search>', { mode: "multi" });
  assert.deepEqual(both.kind === "search" && both.queries, ["Paris, Texas", "Rome"]);
  assert.deepEqual(parse("<search>  </search>", {}), { kind: "invalid", reason: "no query" });
  assert.deepEqual(parse("<search> a", {}), { kind: "invalid", reason: "no action" });
});

test("random text holds the action of a plain search for the earliest end, or none", () => {
  const roll = dice(5);
  const seen = new Set<string>();
  for (let i = 0; i < 5000; i += 1) {
    const text = randomText(roll, roll(30));
    // The truth, the slow way: of all ends of the text, the first that completes a pair.
    let expected: string | undefined;
    for (let end = 1; end <= text.length && expected === undefined; end += 1) {
      expected = names.find((name) => new RegExp(`<${name}>[^]*</${name}>$`).test(text.slice(0, end)));
    }
    const { kind, ...rest } = parse(text, {});
    if (expected === "search" && kind === "invalid") assert.deepEqual(rest, { reason: "no query" });
    else assert.equal(kind, expected ?? "invalid", text);
    seen.add(kind);
  }
  assert.equal(seen.size, 7);
});

test("random bytes parse or are invalid, and never throw", () => {
  const roll = dice(8);
  for (let i = 0; i < 2000; i += 1) {
    const bytes = Uint8Array.from({ length: roll(200) }, () => roll(256));
    parse(new TextDecoder().decode(bytes), { mode: "multi" });
    parse(`<search>${new TextDecoder().decode(bytes)}</search>`, { mode: "multi" });
  }
});

test("reading a turn takes time linear in its length", () => {
  for (const piece of [...pieces, "<plan></plan", '",', '"']) {
    const text = `<search>${piece.repeat(400_000 / piece.length)}`;
    const spent = processorMs(() => parse(`${text}</search>`, { mode: "multi" }));
    assert.ok(spent < 1000, `${piece} took ${spent} ms`);
  }
});
