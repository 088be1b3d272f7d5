/** Python's regular expressions against CPython's own matches. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { pythonPattern } from "../../lib/text/words/python-pattern.ts";
import { projectRoot } from "../project.ts";

const file = join(projectRoot, "test/golden/reward/patterns.json");
const golden = JSON.parse(readFileSync(file, "utf8")) as {
  readonly texts: readonly string[];
  readonly patterns: readonly [pattern: string, whole: number[], inside: number[]][];
};

test("patterns match the texts that they match in Python, whole and inside", () => {
  const { texts, patterns } = golden;
  const matched = (pattern: RegExp): number[] => texts.flatMap((text, i) => (pattern.test(text) ? [i] : []));
  for (const [pattern, whole, inside] of patterns) {
    assert.deepEqual(matched(pythonPattern(`\\A(?:${pattern})\\Z`)), whole, `whole: ${pattern}`);
    assert.deepEqual(matched(pythonPattern(pattern)), inside, `inside: ${pattern}`);
  }
});

test("what is no pattern, or one that JavaScript cannot do, is refused by name", () => {
  for (const pattern of ["(", "[a", "a\\", "*", "\\q", "(?x)a b", "(?P<a>x)(?P<a>y)", "[z-a]"]) {
    assert.throws(
      () => pythonPattern(pattern),
      { code: "ERR_FORMAT", message: /expected a regular expression/ },
      pattern,
    );
  }
});
