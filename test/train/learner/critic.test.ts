/** The critic's clip: what it holds back, and what it counts. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Critic } from "../../../lib/train/learner/critic.ts";
import { filled, noise, tinyModel, tinySequence } from "../tiny.ts";

const clip = 0.2;

test("the clip counts the rows that it holds back, and none that has moved less", async () => {
  await using model = await tinyModel();
  await using critic = await Critic.open(model);
  const sequences = Array.from({ length: 20 }, (_, i) => tinySequence(i, 40));
  const weights = sequences.map(({ rows }) => filled(rows.length, () => 1 / 400));
  const returns = sequences.map(({ rows }, i) => filled(rows.length, (r) => 2 * noise(i, r) - 1));
  const given = sequences.map((each, i) => ({ ...each, weights: weights[i]!, returns: returns[i]! }));
  // A head of zeros would say 0 everywhere.
  await critic.accumulate(given, { clip: 0 });
  await critic.step({ learningRate: 1e-2 });
  const values = await critic.values(sequences);
  const clippedOf = async (moved: (value: number, sequence: number, row: number) => number) => {
    const rows = given.map((each, i) => ({ ...each, oldValues: values[i]!.map((v, r) => moved(v, i, r)) }));
    return (await critic.accumulate(rows, { clip })).numClipped;
  };
  assert.equal(await clippedOf((value, i, r) => value + clip * 0.9 * (2 * noise(i + 50, r) - 1)), 0);
  // Held back where the error from the bound, `clip` below the value, is the larger one.
  let expected = 0;
  const numClipped = await clippedOf((value, i, r) => {
    if (returns[i]![r]! > value - clip / 2) expected += 1;
    return value - 2 * clip;
  });
  assert.ok(expected > 50);
  assert.equal(numClipped, expected);
});
