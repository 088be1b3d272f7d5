/** Measured points as times of any size. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { measuredParts } from "../../apps/plan/measured.ts";

const measured = {
  decode: [
    { size: 4, seconds: 1 },
    { size: 8, seconds: 2 },
    { size: 16, seconds: 3 },
  ],
  read: [{ size: 100, seconds: 0.5 }],
  train: [
    { size: 10, seconds: 1 },
    { size: 20, seconds: 3 },
  ],
  ...{ forwardSecondsPerToken: 0.01, optimiserSecondsPerWeight: 1e-9, stepSeconds: 0.125 },
};

test("points have their own times, sizes between them those of the line, sizes beyond those of the last line", () => {
  const { decodeSeconds } = measuredParts(measured);
  const at = (sequences: number) => decodeSeconds({ sequences, context: 0 });
  assert.deepEqual([4, 6, 8, 12, 16, 24, 2].map(at), [1, 1.5, 2, 2.5, 3, 4, 0.5]);
});

test("a single point is the time of every size", () => {
  assert.equal(measuredParts(measured).readSeconds({ tokens: 7, rows: 0, context: 0 }), 0.5);
});

test("processes that share cores take so many times longer for everything", () => {
  const [one, two] = [measuredParts(measured), measuredParts(measured, 2)];
  const work = { tokens: 15, rows: 5, context: 8, recomputed: 0 };
  assert.equal(two.trainSeconds(work), 2 * one.trainSeconds(work));
  assert.equal(two.forwardSeconds(work), 2 * one.forwardSeconds(work));
  assert.equal(two.optimiserSeconds(1e6), 2 * one.optimiserSeconds(1e6));
  assert.equal(two.stepSeconds, 2 * one.stepSeconds);
});
