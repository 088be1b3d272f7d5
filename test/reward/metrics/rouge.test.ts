/** ROUGE against the Python package that FlashRAG uses. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { rouge } from "../../../lib/reward/metrics/rouge.ts";
import { projectRoot } from "../../project.ts";

interface Case {
  readonly answer: string;
  readonly accepted: readonly string[];
  readonly "rouge-1": number;
  readonly "rouge-2": number;
  readonly "rouge-l": number;
}

test("ROUGE-1, ROUGE-2 and ROUGE-L equal FlashRAG's over sentences, blanks and several scripts", () => {
  const path = join(projectRoot, "test", "golden", "reward", "rouge.json");
  const cases = JSON.parse(readFileSync(path, "utf8")) as Case[];
  assert.equal(cases.length, 120);
  for (const { answer, accepted, ...expected } of cases) {
    const { rouge1, rouge2, rougeL } = rouge(answer, accepted);
    const ours = { "rouge-1": rouge1, "rouge-2": rouge2, "rouge-l": rougeL };
    for (const [name, value] of Object.entries(expected)) {
      assert.ok(
        Math.abs(ours[name as keyof typeof ours] - value) < 1e-12,
        `${name} of ${JSON.stringify(answer)}`,
      );
    }
  }
});

test("an answer without a word has no overlap", () => {
  for (const nothing of ["", ".", "..."]) {
    assert.deepEqual(rouge(nothing, ["a b"]), { rouge1: 0, rouge2: 0, rougeL: 0 });
    assert.deepEqual(rouge("a b", [nothing]), { rouge1: 0, rouge2: 0, rougeL: 0 });
  }
});
