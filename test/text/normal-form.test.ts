/** Unicode's normal forms of texts with any number of marks on a character. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { keyOf } from "../../lib/rollout/tools/built-in/library.ts";
import { firstMeaning } from "../../lib/text/analysis/first-rules.ts";
import { foldAccents, foldForms } from "../../lib/text/analysis/fold.ts";
import { normalized } from "../../lib/text/normal-form.ts";
import { randomNumbers } from "../serve/reading/replies.ts";

const marks = Array.from({ length: 0x1f000 }, (_, code) => String.fromCodePoint(code)).filter((char) =>
  /^\p{M}$/u.test(char),
);
const forms = ["NFC", "NFD", "NFKC", "NFKD"] as const;

test("a text has the normal form that JavaScript gives it, however many marks its characters have", () => {
  const random = randomNumbers(3);
  for (let i = 0; i < 500; i++) {
    const some = Array.from(
      { length: 1 + Math.floor(random() * 12) },
      () => marks[Math.floor(random() * marks.length)],
    );
    const length = 60 + Math.floor(random() * 40);
    const text = `e${Array.from({ length }, () => some[Math.floor(random() * some.length)]).join("")}é`;
    for (const form of forms)
      assert.equal(normalized(text, form), text.normalize(form), `${form} of ${JSON.stringify(text)}`);
  }
});

test("hundreds of thousands of marks are put in order, which takes JavaScript alone minutes", () => {
  // U+0316 is of a lower class than U+0301, so all of the one stand before all of the other.
  const count = 100_000;
  const text = normalized(`b${"\u0301\u0316".repeat(count)}`, "NFD");
  assert.equal(text, `b${"\u0316".repeat(count)}${"\u0301".repeat(count)}`);
});

test("words and names with tens of thousands of marks are folded as soon", () => {
  const many = "\u0301\u0316".repeat(40_000);
  assert.equal(foldForms(`B${many}`), "b");
  assert.equal(foldForms(`\u03b1${many}`), "\u03b1");
  assert.equal(foldAccents(`\u00fc${many}`), `u${foldAccents(many)}`);
  assert.deepEqual(firstMeaning(`Word${many}`).words, ["word"]);
  assert.equal(keyOf(`b${many}_A`), `b${"\u0316".repeat(40_000)}${"\u0301".repeat(40_000)} a`);
});
