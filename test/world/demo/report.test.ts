/** What the demo tells its reader. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { HeldOut } from "../../../apps/world/demo/held-out.ts";
import type { ModelEvaluation } from "../../../apps/world/demo/model-evaluation.ts";
import { bar, evaluationLine, stepLine } from "../../../apps/world/demo/parts/lines.ts";
import { chartOf, sparkline } from "../../../apps/world/demo/report/curve.ts";
import {
  bothSearches,
  type DemoFindings,
  summarize,
  tableOf,
} from "../../../apps/world/demo/report/report.ts";
import { intervalsOf, meansOf } from "../../../lib/evaluate/figures.ts";
import type { QuestionResult } from "../../../lib/evaluate/question-result.ts";

function result(id: string, em: number): QuestionResult {
  const plain = {
    ...{ set: "test", index: 0, judge: null, retrievalRecall: null, retrievalPrecision: null },
    ...{ generatedTokens: 1, observedTokens: 0, elapsedSeconds: 1 },
    ...{ id, question: `${id}?`, answers: ["gold"], answer: "x" },
    ...{ invalidActions: 0, failures: 0, seconds: 1 },
  };
  const same = { em, f1: em, acc: em, precision: em, recall: em };
  const segments = [{ kind: "policy" as const, text: ` says ${id} ` }];
  return { ...plain, ...same, rounds: 1, queries: [["q0"]], stop: "answer", segments };
}

/** An evaluation of so many questions, the first ones right. */
function evaluation(right: number, rounds = 1.5, questions = 2): HeldOut {
  const perQuestion = Array.from({ length: questions }, (_, i) => result(`${i}`, Number(i < right)));
  return {
    ...meansOf(perQuestion),
    ...{ rounds, secondsPerQuestion: 0.01, latencySeconds: 0.1, aloneSeconds: null, failures: 0 },
    ...{ judged: 0, judgeFailures: 0, lost: [] },
    intervals: intervalsOf(perQuestion),
    questions,
    perQuestion,
    ...{ reward: 0, searchShare: 0.5, numQueries: 2, invalidActions: 0 },
  };
}

/** Of two questions right: drawn and greedily behind the search with gaps, then in a plain index. */
function model(drawn: number, greedy: number, plainDrawn: number, plainGreedy: number): ModelEvaluation {
  return {
    patchy: { drawn: evaluation(drawn), greedy: evaluation(greedy) },
    plain: { drawn: evaluation(plainDrawn), greedy: evaluation(plainGreedy) },
  };
}

const found: DemoFindings = {
  single: { before: model(0, 0, 0, 0), after: model(1, 2, 2, 2) },
  multi: { before: model(0, 0, 0, 1), after: model(2, 2, 1, 2) },
  control: { single: model(1, 0, 0, 0), multi: model(0, 1, 0, 0) },
  thorough: { single: model(2, 2, 2, 2), multi: model(2, 2, 2, 2) },
};
const counts = { seed: 7, steps: 30, samples: 7680, thoroughSamples: 2400 };

test("the summary holds every model greedily and drawn, behind both kinds of search", () => {
  const summary = summarize(found, counts);
  const { seed, steps, questions, single, multi, control, thorough } = summary;
  assert.deepEqual([seed, steps, questions], [7, 30, 2]);
  assert.deepEqual([control.samples, thorough?.samples], [7680, 2400]);
  const emsOf = ({ patchy, plain }: typeof single.before): number[] =>
    [patchy.drawn, patchy.greedy, plain.drawn, plain.greedy].map(({ em }) => 2 * em);
  assert.deepEqual([single.before, single.after].map(emsOf), [
    [0, 0, 0, 0],
    [1, 2, 2, 2],
  ]);
  assert.deepEqual([multi.before, multi.after].map(emsOf), [
    [0, 0, 0, 1],
    [2, 2, 1, 2],
  ]);
  assert.deepEqual([control.single, control.multi].map(emsOf), [
    [1, 0, 0, 0],
    [0, 1, 0, 0],
  ]);
  assert.deepEqual(single.after.plain.drawn, {
    ...{ em: 1, f1: 1, searchShare: 0.5, rounds: 1.5, numQueries: 2, generatedTokens: 1 },
  });
});

test("the table has a row for each model and mode, drawn before greedy, both kinds of search", () => {
  const cells = tableOf(summarize(found, counts))
    .split("\n")
    .slice(5, 13)
    .map((row) => row.trim().split(/ {2,}/).slice(-7));
  assert.deepEqual(cells, [
    ["start: imitates the guessing teacher", "0.0", "0.0", "1.50", "0.0", "0.0", "1.50"],
    ["control: imitates it further", "50.0", "0.0", "1.50", "0.0", "0.0", "1.50"],
    ["RL from the start", "50.0", "100.0", "1.50", "100.0", "100.0", "1.50"],
    ["start shown a thorough teacher", "100.0", "100.0", "1.50", "100.0", "100.0", "1.50"],
    ["start: imitates the guessing teacher", "0.0", "0.0", "1.50", "0.0", "50.0", "1.50"],
    ["control: imitates it further", "0.0", "50.0", "1.50", "0.0", "0.0", "1.50"],
    ["RL from the start", "100.0", "100.0", "1.50", "50.0", "100.0", "1.50"],
    ["start shown a thorough teacher", "100.0", "100.0", "1.50", "100.0", "100.0", "1.50"],
  ]);
  const plain = tableOf(summarize({ ...found, thorough: undefined }, counts));
  assert.doesNotMatch(plain, /start shown/);
  assert.match(plain, /7680 more demonstrations of the guessing teacher/);
  assert.match(plain, /RL is no substitute for good demonstrations; .*\n--compare shows/);
});

test("few questions are no evidence; many are set against the better of start and control, the drawn ones first", () => {
  const small = tableOf(summarize(found, { ...counts, steps: 2 }));
  assert.match(
    small,
    /^2 steps and 2 questions show that everything runs; what differs between rows is chance\.$/m,
  );
  assert.doesNotMatch(small, /RL over/);

  const of = (drawn: number, greedy: number, rounds: number): ModelEvaluation => {
    const both = { drawn: evaluation(drawn, rounds, 100), greedy: evaluation(greedy, rounds, 100) };
    return { patchy: both, plain: both };
  };
  const large: DemoFindings = {
    single: { before: of(30, 35, 1), after: of(80, 90, 2) },
    multi: { before: of(30, 36, 1), after: of(82, 88, 1.5) },
    control: { single: of(40, 30, 1), multi: of(20, 30, 1) },
  };
  const table = tableOf(summarize(large, counts));
  assert.match(
    table,
    /^ {2}drawn \+40\.0 \(single\), \+52\.0 \(multi\); in a plain index \+40\.0 \(single\)/m,
  );
  assert.match(table, /^ {2}greedy \+55\.0 \(single\), \+52\.0 \(multi\)/m);
  assert.match(
    table,
    /^Parallel queries after RL \(drawn\): 25 % fewer rounds, \+2\.0 points of EM; in a plain index 25 % fewer rounds, \+2\.0 points of EM\.$/m,
  );
});

test("each step is a line of a curve that grows downwards; each evaluation tells both ways to answer", () => {
  const of = (step: number, reward: number) => ({
    ...{ step, "reward/mean": reward, "search/rounds": 1.25, "policy/entropy": 0.1 },
  });
  assert.equal(
    stepLine("single", of(7, 0.5), 30),
    `single  7/30 reward 0.50 ${"█".repeat(15)}${"·".repeat(15)} rounds 1.25  entropy 0.100`,
  );
  const lengths = [0, 0.3, 0.6, 1, 1.2].map((reward) => bar("multi", reward).replaceAll("·", "").length);
  assert.deepEqual(lengths, [0, 9, 18, 30, 30]);
  assert.notEqual(bar("single", 0.5), bar("multi", 0.5));
  assert.equal(
    evaluationLine("multi", "start", model(1, 2, 0, 1)),
    "multi  start: EM 50.0% drawn, 100.0% greedy; plain index 0.0% drawn, 50.0% greedy",
  );
});

test("the picture has a curve for each training, a line for its control, and both ways to answer at both ends", () => {
  const ems = { before: { drawn: 0.1, greedy: 0.2 }, after: { drawn: 0.8, greedy: 0.9 } };
  const curves = [
    { mode: "single", rewards: [0, 0.5, 1], ...ems, control: { drawn: 0.25, greedy: 0.3 } },
    { mode: "multi", rewards: [0.25, 0.5], ...ems, control: { drawn: 0, greedy: 0 } },
  ] as const;
  assert.equal(sparkline(curves[0]), "single  reward 0.00 ▁▅█ 1.00");
  const svg = chartOf(curves);
  assert.equal(svg.match(/<polyline /g)?.length, 2);
  assert.equal(svg.match(/stroke-dasharray/g)?.length, 2);
  const [, points = ""] = /points="([^"]*)"/.exec(svg) ?? [];
  const heights = points.split(" ").map((point) => Number(point.split(",")[1]));
  assert.ok(heights[0]! > heights[1]! && heights[1]! > heights[2]!, "a higher reward stands higher");
  const ends = [...svg.matchAll(/<circle cx="([\d.]+)" cy="([\d.]+)"/g)]
    .slice(0, 4)
    .map(([, , y]) => Number(y));
  assert.deepEqual(
    ends.toSorted((a, b) => b - a),
    ends,
    "drawn and greedy before, then after: each stands higher",
  );
});

test("the picture shows the mean of both kinds of search", () => {
  const { single } = summarize(found, counts);
  assert.deepEqual(bothSearches(single.after), { drawn: 0.75, greedy: 1 });
});
