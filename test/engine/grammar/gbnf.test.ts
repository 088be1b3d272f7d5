/** Which texts grammars in GBNF take, and which grammars are refused. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { taker } from "./follow.ts";

function assertTakes(grammar: string, taken: readonly string[], left: readonly string[]): void {
  const takes = taker(grammar);
  for (const text of taken) assert.ok(takes(text), `${grammar} has to take ${JSON.stringify(text)}`);
  for (const text of left) assert.ok(!takes(text), `${grammar} must not take ${JSON.stringify(text)}`);
}

test("texts, classes, groups, repetitions, rules and comments mean what llama.cpp says", () => {
  assertTakes('root ::= "yes" | "no, " root', ["yes", "no, yes", "no, no, yes"], ["no", "no, ", "yesno"]);
  assertTakes(
    'root ::= item+ # all of them\n\n# one\nitem ::=\n  [a-z]{1,3} ("," | ";")?\n',
    ["abc", "abc,d;", "abcdef"],
    ["", ",", "a,,"],
  );
  assertTakes('root ::= [^"\\\\\\x00-\\x1f]{2} ("a" | )', ["éa", "日本a", "ab", "😀😀"], ['"a', "a", "a\nb"]);
  assertTakes(
    'root ::= "\\n\\t\\"\\\\\\u00e9\\U0001F600" .',
    ['\n\t"\\é😀x', '\n\t"\\é😀日'],
    ['\n\t"\\é😀'],
  );
  assertTakes("root ::= [a\\-\\]]{2,} [+-]", ["a-+", "]]--"], ["a-", "a+"]);
  assertTakes('root ::= "(" root ")" | "x"', ["x", "((x))"], ["(x", "()"]);
  assertTakes(
    "root ::= [\\U00000430-\\U0000044f\\u0800-\\uffff]+",
    ["привет", "日本", "\uffff"],
    ["é", "a", "😀", "Привет"],
  );
});

test("the beginnings of texts that begin alike are shared, and each text is told from the others", () => {
  const words = ["a", "ab", "abc", "abd", "b", "é", "éé", "日", "日本", "", "x".repeat(300), "x".repeat(299)];
  const grammar = `root ::= ${words.map((word) => JSON.stringify(word)).join(" | ")}`;
  assertTakes(grammar, words, ["abcd", "ac", "本", "éa", "x", "x".repeat(298), "x".repeat(301)]);
});

test("a grammar that cannot be read is refused with its line", () => {
  for (const [grammar, message] of [
    ["root ::= x", /line 1: rule "x" is not defined/],
    ['a ::= "b"', /rule "root" is not defined/],
    ['root ::= "a"\nroot ::= "b"', /line 2: rule "root" is defined twice/],
    ['root ::= "a', /expected the end of a text/],
    ["root ::= [a", /expected "]"/],
    ['root ::= ("a"', /expected "\)", got the end/],
    ['root ::= "a"{3,1}', /"\{3,1\}" is no repetition/],
    ["root ::= [z-a]", /a range that is none/],
    ['root ::= "a" & "b"', /expected a text, a class, a group or a rule, got "& /],
    [`root ::= ${"(".repeat(100_000)}`, /at most 200 groups within each other/],
    ['root ::= root "a" | "b"', /no rule that begins with itself/],
  ] as const)
    assert.throws(() => taker(grammar), { code: "ERR_ARGUMENT", message });
});
