/** Each system's metric rules against Python, and BLEU against FlashRAG's tokeniser. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { bleu, bleuTokens } from "../../../lib/reward/metrics/bleu.ts";
import { answerRules, type RulesName, scoreAnswer } from "../../../lib/reward/metrics/rules.ts";
import { spacedWords } from "../../../lib/text/words/normalize.ts";
import { projectRoot } from "../../project.ts";

function golden<T>(file: string): T {
  return JSON.parse(readFileSync(join(projectRoot, "test/golden/reward", file), "utf8")) as T;
}

const round = (value: number): number => Math.round(value * 1e6) / 1e6;
const rulesNames = Object.keys(answerRules) as RulesName[];

interface RulesCase {
  readonly prediction: string;
  readonly golds: readonly string[];
  readonly scores: Readonly<Record<RulesName, Readonly<Record<string, number>>>>;
}

test("every score of every system's rules equals Python's, in all scripts", () => {
  for (const { prediction, golds, scores } of golden<RulesCase[]>("rules.json")) {
    // SQuAD 2.0's differ from SQuAD's where an answer has no word: test/evaluate/score-answers.test.ts.
    // CuratedTREC's read accepted answers as patterns: test/reward/metrics/metrics.test.ts.
    for (const name of rulesNames.filter((each) => each !== "squad2" && each !== "curatedtrec")) {
      const actual = Object.entries(scoreAnswer(prediction, golds, name, { faithful: true })).map(
        ([key, value]) => [key, round(value)],
      );
      assert.deepEqual(Object.fromEntries(actual), scores[name], JSON.stringify({ name, prediction, golds }));
    }
  }
});

test("FlashRAG's rules give FlashRAG's scores", () => {
  type Case = { pred: string; gold: string[] } & Record<"em" | "acc" | "f1" | "precision" | "recall", number>;
  for (const { pred, gold, ...expected } of golden<{ qa: Case[] }>("qa_metrics.json").qa) {
    const { em, acc, f1, precision, recall } = scoreAnswer(pred, gold, "flashrag", { faithful: true });
    const actual = { em, acc, f1: round(f1), precision: round(precision), recall: round(recall) };
    assert.deepEqual(actual, expected, JSON.stringify({ pred, gold }));
  }
});

test("training and evaluation of RAG-R1 normalise punctuation differently", () => {
  const both = (answer: string, gold: string) => {
    return (["search-r1", "rag-r1"] as const).map((name) => scoreAnswer(answer, [gold], name).em);
  };
  assert.deepEqual(both("U.S.", "us"), [1, 0]);
  assert.deepEqual(both("U.S.", "u s"), [0, 1]);
  assert.deepEqual(both("1,234", "1234"), [1, 0]);
  assert.deepEqual(both("A-ha", "ha"), [0, 1]);
  assert.deepEqual(both("Arthur’s Magazine", "Arthur's Magazine"), [0, 1]);
  assert.deepEqual(spacedWords("snake_case"), ["snake", "case"]);
});

test("words in another order cover an accepted answer in R1-Searcher's accuracy only", () => {
  const [mine, theirs] = (["flashrag", "r1-searcher"] as const).map((name) =>
    scoreAnswer("Madison, James", ["James Madison"], name),
  );
  assert.deepEqual([mine?.acc, mine?.coverEm1, mine?.coverEm2], [0, 1, 0]);
  assert.deepEqual([theirs?.acc, theirs?.coverEm1, theirs?.coverEm2], [1, 1, 0]);
});

test("BLEU's tokens equal those of mteval 13a in FlashRAG", () => {
  for (const [text, expected] of golden<{ tok13a: [string, string[]][] }>("qa_metrics.json").tok13a) {
    assert.deepEqual(bleuTokens(text), expected, text);
  }
});

test("BLEU is 1 for the same text, 0 without a shared 4-gram, and short answers are penalised", () => {
  const answer = "one two three four five six";
  assert.equal(bleu([{ answer, accepted: ["other words", answer] }]), 1);
  assert.equal(bleu([{ answer: "one two three", accepted: [answer] }]), 0);
  assert.equal(bleu([{ answer: "", accepted: [answer] }]), 0);
  assert.equal(
    round(bleu([{ answer: "one two three four", accepted: [answer] }])),
    round(Math.exp(1 - 6 / 4)),
  );
});
