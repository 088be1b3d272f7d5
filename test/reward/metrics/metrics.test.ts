/** Answer scores against the cases of FlashRAG's code and of CPython's own character classes. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { coverage, exactMatch, f1, precision, recall } from "../../../lib/reward/metrics/metrics.ts";
import { scoreAnswer } from "../../../lib/reward/metrics/rules.ts";
import { normalizeAnswer } from "../../../lib/text/words/normalize.ts";
import { projectRoot } from "../../project.ts";

interface QaCase {
  readonly pred: string;
  readonly gold: readonly string[];
  readonly em: number;
  readonly acc: number;
  readonly f1: number;
  readonly precision: number;
  readonly recall: number;
}

function golden<T>(file: string): T {
  return JSON.parse(readFileSync(join(projectRoot, "test/golden/reward", file), "utf8")) as T;
}

interface Cases {
  readonly normalize: readonly [string, string][];
  readonly qa: readonly QaCase[];
  readonly curatedtrec: readonly [string, string[], number, number][];
}

const cases = golden<Cases>("qa_metrics.json");

test("an answer is normalised as FlashRAG normalises it", () => {
  for (const [text, expected] of cases.normalize) assert.equal(normalizeAnswer(text), expected, text);
});

test("letters, digits, marks and white space of every script count as in Python", () => {
  for (const [text, expected] of golden<[string, string][]>("python_words.json")) {
    assert.equal(normalizeAnswer(text), expected, JSON.stringify(text));
  }
});

test("exact match, coverage, F1, precision and recall equal FlashRAG's", () => {
  const round = (value: number): number => Math.round(value * 1e6) / 1e6;
  const faithful = { faithful: true };
  for (const { pred, gold, ...expected } of cases.qa) {
    const actual = {
      em: exactMatch(pred, gold, faithful),
      acc: coverage(pred, gold, faithful),
      f1: round(f1(pred, gold, faithful)),
      precision: round(precision(pred, gold, faithful)),
      recall: round(recall(pred, gold, faithful)),
    };
    assert.deepEqual(actual, expected, JSON.stringify({ pred, gold }));
  }
});

test("accepted answers that are patterns match as CuratedTREC's do in FlashRAG", () => {
  for (const [answer, patterns, em, acc] of cases.curatedtrec) {
    const scores = scoreAnswer(answer, patterns, "curatedtrec");
    assert.deepEqual([scores.em, scores.acc], [em, acc], answer);
  }
});
