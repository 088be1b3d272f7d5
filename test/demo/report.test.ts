/** What the demo tells its reader. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { chartOf, sparkline } from "../../apps/demo/curve.ts";
import type { HeldOut } from "../../apps/demo/held-out.ts";
import { type DemoEvaluations, summarize, tableOf } from "../../apps/demo/report.ts";
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

function evaluation(perQuestion: readonly QuestionResult[]): HeldOut {
  return {
    ...meansOf(perQuestion),
    ...{ rounds: 1.5, secondsPerQuestion: 0.01, latencySeconds: 0.1, aloneSeconds: null, failures: 0 },
    ...{ judged: 0, judgeFailures: 0, lost: [] },
    intervals: intervalsOf(perQuestion),
    questions: perQuestion.length,
    perQuestion,
    ...{ reward: 0, searchShare: 0.5, numQueries: 2, invalidActions: 0 },
  };
}

const all = (em: number) => evaluation([result("a", em), result("b", em)]);
const results: DemoEvaluations = {
  single: { before: all(0), after: evaluation([result("a", 1), result("b", 0)]) },
  multi: { before: all(0), after: all(1) },
  control: { single: evaluation([result("a", 0), result("b", 1)]), multi: all(0) },
  thorough: { single: all(1), multi: all(1) },
};
const counts = { seed: 7, samples: 7680, thoroughSamples: 2400 };

test("the summary holds both modes before and after, the control, and what a better teacher gives", () => {
  const figures = (em: number) => ({
    em,
    f1: em,
    searchShare: 0.5,
    rounds: 1.5,
    numQueries: 2,
    generatedTokens: 1,
  });
  assert.deepEqual(summarize(results, counts), {
    ...{ seed: 7, questions: 2 },
    single: { before: figures(0), after: figures(0.5) },
    multi: { before: figures(0), after: figures(1) },
    control: { single: figures(0.5), multi: figures(0), samples: 7680 },
    thorough: { single: figures(1), multi: figures(1), samples: 2400 },
  });
});

test("the table has a row for each model and mode, and sets RL against the better of start and control", () => {
  const table = tableOf(summarize(results, counts));
  const ems = table
    .split("\n")
    .slice(3, 11)
    .map((row) => [row.slice(0, 44).trim(), row.slice(44, 50).trim()]);
  assert.deepEqual(ems, [
    ["single   start: imitates the hasty teacher", "0.0"],
    ["control: imitates it further", "50.0"],
    ["RL from the start", "50.0"],
    ["start shown a thorough teacher", "100.0"],
    ["multi    start: imitates the hasty teacher", "0.0"],
    ["control: imitates it further", "0.0"],
    ["RL from the start", "100.0"],
    ["start shown a thorough teacher", "100.0"],
  ]);
  assert.match(
    table,
    /RL over the better of start and control: \+0\.0 EM points \(single\), \+100\.0 \(multi\) \(2 questions: a smoke test\)\./,
  );
  assert.match(table, /7680 more demonstrations of the hasty teacher/);
  const plain = tableOf(summarize({ ...results, thorough: undefined }, counts));
  assert.doesNotMatch(plain, /start shown/);
  assert.match(plain, /RL is no substitute for good demonstrations; .*\n--compare shows/);
});

test("the picture has a curve for each training and a line for its control", () => {
  const curves = [
    { mode: "single", rewards: [0, 0.5, 1], control: 0.25 },
    { mode: "multi", rewards: [0.25, 0.5], control: 0 },
  ] as const;
  assert.equal(sparkline(curves[0]), "single  reward 0.00 ▁▅█ 1.00");
  const svg = chartOf(curves);
  assert.equal(svg.match(/<polyline /g)?.length, 2);
  assert.equal(svg.match(/stroke-dasharray/g)?.length, 2);
  const [, points = ""] = /points="([^"]*)"/.exec(svg) ?? [];
  const heights = points.split(" ").map((point) => Number(point.split(",")[1]));
  assert.ok(heights[0]! > heights[1]! && heights[1]! > heights[2]!, "a higher reward stands higher");
});
