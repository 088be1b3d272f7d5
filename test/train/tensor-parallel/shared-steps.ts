/** Steps of a model that ranks share, beside those of one process. */
import assert from "node:assert/strict";
import { before } from "node:test";
import { native } from "../../../lib/base/addon/native.ts";
import { Model } from "../../../lib/model/model.ts";
import { runRanks } from "../../comm/ranks.ts";
import { shapes } from "../../model/parallel/answers.ts";
import { type Numbers, type StepsCase, stepsOf, valuesOf } from "./steps.ts";

interface Told {
  readonly steps: Numbers;
  readonly values: Numbers;
}

before(() => native().setNumThreads(1));

export async function onRanks(size: number, cases: readonly StepsCase[]): Promise<Told[]> {
  const ranks = await runRanks("./steps-rank.js", import.meta.url, { size, args: [JSON.stringify(cases)] });
  assert.deepEqual(
    ranks.map(({ code, stderr }) => [code, stderr]),
    Array(size).fill([0, ""]),
    JSON.stringify(ranks.map(({ lines }) => lines.filter((line) => (line as Numbers)["code"]))),
  );
  return ranks[0]!.lines as Told[];
}

async function alone(wanted: StepsCase): Promise<Told> {
  const { shape, dtype = "float32", weights } = wanted;
  await using model = await Model.create(shape, { seed: 1, std: 0.2, dtype, weights });
  return { steps: await stepsOf(model, wanted), values: await valuesOf(model) };
}

/**
 * Each array beside the largest of its numbers. Terms of a gradient cancel, and layers add their roundings up; the second
 * step's norm is of weights that differ: these are allowed some times what losses, the first norm and weights are.
 */
function near(actual: Numbers, expected: Numbers, tolerance: number): void {
  assert.deepEqual(Object.keys(actual), Object.keys(expected));
  for (const [name, values] of Object.entries(expected)) {
    assert.equal(actual[name]!.length, values.length, name);
    const scale = Math.max(...values.map(Math.abs), 1e-2);
    const gap = Math.max(...values.map((value, i) => Math.abs(value - actual[name]![i]!)));
    const allowed = /^(gradient|norm [12])/.test(name) ? 8 * tolerance : tolerance;
    assert.ok(gap <= allowed * scale, `${name}: ${gap / scale} of ${scale}`);
  }
}

export async function compare(size: number, cases: readonly StepsCase[], tolerance = 1e-6): Promise<void> {
  const told = await onRanks(size, cases);
  for (const [i, wanted] of cases.entries()) {
    const expected = await alone(wanted);
    near(told[i]!.steps, expected.steps, tolerance);
    near(told[i]!.values, expected.values, tolerance);
  }
}

export const families = Object.values(shapes);
