/** Intervals and tests against numpy and scipy. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { differenceOf } from "../../lib/evaluate/compare.ts";
import {
  type Column,
  meanOf,
  percentileInterval,
  resampledMeans,
} from "../../lib/evaluate/statistics/bootstrap.ts";
import { signTest } from "../../lib/evaluate/statistics/sign-test.ts";
import { projectRoot } from "../project.ts";

interface Compared {
  readonly first: number;
  readonly second: number;
  readonly difference: number;
  readonly interval: readonly number[];
  readonly pValue: number;
  readonly scipyInterval: readonly number[];
  readonly onlyFirst: number;
  readonly onlySecond: number;
  readonly signTest: number;
}

interface Golden {
  readonly columns: Readonly<Record<"em" | "f1" | "some", Column>>;
  readonly means: Readonly<Record<string, number>>;
  readonly intervals: Readonly<Record<string, readonly number[]>>;
  readonly scipyIntervals: Readonly<Record<string, readonly number[]>>;
  readonly better: readonly number[];
  readonly alike: readonly number[];
  readonly comparisons: Readonly<Record<"better" | "alike", Compared>>;
  readonly signTests: readonly { onlyFirst: number; onlySecond: number; pValue: number }[];
}

const file = join(projectRoot, "test", "golden", "evaluate", "statistics.json");
const golden = JSON.parse(readFileSync(file, "utf8")) as Golden;

function near(actual: number | undefined, expected: number | undefined, tolerance: number): void {
  const apart = Math.abs((actual ?? Number.NaN) - (expected ?? Number.NaN));
  assert.ok(apart <= tolerance, `${actual} is not ${expected}`);
}

test("intervals of means are numpy's percentiles over the same draws, missing values left out", () => {
  const names = ["em", "f1", "some"] as const;
  const means = resampledMeans(
    names.map((name) => golden.columns[name]),
    { seed: 7 },
  );
  for (const [i, name] of names.entries()) {
    near(meanOf(golden.columns[name]) ?? undefined, golden.means[name], 1e-12);
    const ends = percentileInterval(means[i] ?? []);
    for (const end of [0, 1]) near(ends?.[end], golden.intervals[name]?.[end], 1e-12);
  }
});

test("intervals of means are close to scipy's bootstrap with draws of its own", () => {
  // The ends of 1000 resamples scatter by about a tenth of the interval's half width of 0.08.
  const means = resampledMeans([golden.columns.em, golden.columns.f1], { seed: 1 });
  for (const [i, name] of ["em", "f1"].entries()) {
    const ends = percentileInterval(means[i] ?? []);
    for (const end of [0, 1]) near(ends?.[end], golden.scipyIntervals[name]?.[end], 0.015);
  }
});

test("two runs are compared as numpy and scipy compare them", () => {
  const first = golden.columns.em.map((value) => value ?? 0);
  for (const name of ["better", "alike"] as const) {
    const expected = golden.comparisons[name];
    const actual = differenceOf(first, golden[name], { seed: 3 });
    for (const key of ["first", "second", "difference", "pValue"] as const)
      near(actual[key], expected[key], 1e-12);
    for (const end of [0, 1]) {
      near(actual.interval[end], expected.interval[end], 1e-12);
      near(actual.interval[end], expected.scipyInterval[end], 0.015);
    }
    const { onlyFirst, onlySecond, pValue } = signTest(first, golden[name]);
    assert.deepEqual([onlyFirst, onlySecond], [expected.onlyFirst, expected.onlySecond]);
    near(pValue, expected.signTest, 1e-12);
  }
  assert.ok(golden.comparisons.better.pValue < 0.01 && golden.comparisons.alike.pValue > 0.05);
});

test("the sign test is scipy's exact binomial test, for few and for many questions", () => {
  for (const { onlyFirst, onlySecond, pValue } of golden.signTests) {
    const first = [...Array(onlyFirst).fill(1), ...Array(onlySecond).fill(0), 1, 0];
    const second = [...Array(onlyFirst).fill(0), ...Array(onlySecond).fill(1), 1, 0];
    near(signTest(first, second).pValue, pValue, 1e-9);
  }
  assert.equal(signTest([1, 0], [1, 0]).pValue, 1);
});

test("equal runs differ by nothing, and the p-value says so", () => {
  const { difference, interval, pValue } = differenceOf([1, 0, 1], [1, 0, 1]);
  assert.deepEqual([difference, ...interval, pValue], [0, 0, 0, 1]);
});

test("one seed gives one interval", () => {
  const at = (seed: number) => percentileInterval(resampledMeans([golden.columns.f1], { seed })[0] ?? []);
  assert.deepEqual(at(1), at(1));
  assert.notDeepEqual(at(1), at(2));
});
