/** Which texts the grammar of a regular expression takes: those that JavaScript's RegExp matches as a whole. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { regexGrammar } from "../../../lib/engine/constraint/regex.ts";
import { randomNumbers } from "../../serve/reading/replies.ts";
import { taker } from "./follow.ts";

const expressions = [
  ...[
    "a*b+c?",
    "(ab|a)(c|bcd)",
    "(?:a|b){2,4}",
    "[a-c]{3}|d",
    "[^a]b",
    ".{2}",
    "(a*)*b",
    "(a?){6}c",
    "a{0,3}",
  ],
  ...[
    "\\d*\\.\\d",
    "[é-ë]+",
    "[^é]x",
    "\\w\\W\\s",
    "[\\d\\-a]*",
    "^ab$|^c",
    "(|a)b",
    "[2-9]\\d|[1-9]\\d{2}|[1-9]\\d{3}",
  ],
  ...["😀+|日本", "[^\\x00-\\x7f]*", "\\u00e9{2}", "(a(b(c|d)?)*)+", "[]]?x".replace("[]]", "[\\]]")],
];
const characters = [..."aabbccdx0123-. é", "ë", "日", "本", "😀", "\n", "]"];

test("an expression takes the texts that RegExp takes as a whole, and no others", () => {
  const random = randomNumbers(7);
  for (const source of expressions) {
    const takes = taker(regexGrammar(source));
    const reference = new RegExp(`^(?:${source})$`, "u");
    let numTaken = 0;
    for (let i = 0; i < 3000; i++) {
      const length = Math.floor(random() * 7);
      const text = Array.from({ length }, () => characters[Math.floor(random() * characters.length)]).join(
        "",
      );
      assert.equal(takes(text), reference.test(text), `${source} and ${JSON.stringify(text)}`);
      if (takes(text)) numTaken += 1;
    }
    assert.ok(numTaken > 0, `${source}: no text was taken`);
  }
});

test("what no grammar holds to is refused with a reason", () => {
  for (const [source, message] of [
    ["a(?=b)", /lookaround/],
    ["(a)\\1", /"\\1" is not held to/],
    ["\\bword", /"\\b" is not held to/],
    ["(a", /an open group/],
    ["a$b", /is not held to/],
    ["[b-a]", /a range that is none/],
    ["a{3,1}", /is not held to/],
    ["(".repeat(5000), /groups within each other/],
  ] as const)
    assert.throws(() => regexGrammar(source), { code: "ERR_ARGUMENT", message });
});
