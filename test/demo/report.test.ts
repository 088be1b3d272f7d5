/** What the demo tells its reader. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { chooseTraces, summarize, tableOf } from "../../apps/demo/report.ts";
import type { Evaluation } from "../../lib/evaluate/evaluate.ts";
import { intervalsOf, meansOf } from "../../lib/evaluate/figures.ts";
import type { QuestionResult } from "../../lib/evaluate/question-result.ts";

function result(id: string, em: number, numQueries = 1): QuestionResult {
  const queries = [Array.from({ length: numQueries }, (_, i) => `q${i}`)];
  const segments = [{ kind: "policy" as const, text: ` says ${id} ` }];
  const plain = {
    ...{
      set: "test",
      index: 0,
      judge: null,
      retrievalRecall: null,
      retrievalPrecision: null,
      generatedTokens: 1,
      observedTokens: 0,
      elapsedSeconds: 1,
    },
    id,
    question: `${id}?`,
    answers: ["gold"],
    answer: "x",
    invalidActions: 0,
    failures: 0,
    seconds: 1,
  };
  return {
    ...plain,
    em,
    f1: em,
    acc: em,
    precision: em,
    recall: em,
    rounds: 1,
    queries,
    stop: "answer",
    segments,
  };
}

function evaluation(perQuestion: readonly QuestionResult[]): Evaluation {
  return {
    ...meansOf(perQuestion),
    ...{ rounds: 1.5, secondsPerQuestion: 0.01, latencySeconds: 0.1, aloneSeconds: null, failures: 0 },
    ...{ judged: 0, judgeFailures: 0, lost: [] },
    intervals: intervalsOf(perQuestion),
    questions: perQuestion.length,
    perQuestion,
  };
}

const single = {
  before: evaluation([result("a", 0), result("b", 0)]),
  after: evaluation([result("a", 1), result("b", 0)]),
};
const multi = {
  before: evaluation([result("a", 0), result("b", 0), result("c", 1)]),
  after: evaluation([result("a", 1, 1), result("b", 1, 3), result("c", 0)]),
};

test("the summary holds the figures of both modes before and after, and the number of questions", () => {
  const figures = (em: number) => ({ em, f1: em, rounds: 1.5, secondsPerQuestion: 0.01 });
  assert.deepEqual(summarize({ single, multi }), {
    single: { before: figures(0), after: figures(0.5) },
    multi: { before: figures(1 / 3), after: figures(2 / 3) },
    questions: 2,
  });
});

test("the table has a row for each mode and moment", () => {
  const rows = tableOf(summarize({ single, multi })).split("\n");
  assert.deepEqual(
    rows.slice(3).map((row) => row.trim().split(/\s{2,}/)),
    [
      ["single", "before RL", "0.0", "0.0", "1.50", "10.0"],
      ["single", "after RL", "50.0", "50.0", "1.50", "10.0"],
      ["multi", "before RL", "33.3", "33.3", "1.50", "10.0"],
      ["multi", "after RL", "66.7", "66.7", "1.50", "10.0"],
    ],
  );
});

test("the traces show what RL mended, with the most queries, and what stays wrong", () => {
  const traces = chooseTraces({ single, multi }).map(([, trace]) => trace);
  assert.deepEqual(traces, ["says a\n=> right", "says b\n=> right", "says c\n=> wrong, expected gold"]);
});
