/** The threshold of state values, against every threshold there is. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { calibrateSigma } from "../../lib/evaluate/statistics/calibrate-sigma.ts";
import { dice } from "../dice.ts";

type Answer = readonly [value: number | undefined, isRight: boolean];

const judged = (answers: readonly Answer[]) =>
  answers.map(([value, isRight]) => {
    const action = {
      kind: "answer",
      segment: 1,
      popped: 0,
      value,
    } as const;
    return {
      isRight,
      trajectory: { memory: { actions: [action], peakTokens: 0, finalTokens: 0, totalTokens: 0 } },
    };
  });

function indexOf(answers: readonly Answer[], sigma: number): number {
  const shareBelow = (right: boolean): number => {
    const all = answers.filter(([, isRight]) => isRight === right);
    return all.filter(([value]) => value! < sigma).length / Math.max(1, all.length);
  };
  return shareBelow(true) - shareBelow(false);
}

test("no threshold separates right from wrong answers better", () => {
  const below = dice(5);
  for (let round = 0; round < 300; round += 1) {
    const answers: Answer[] = [[below(9) / 4, true]];
    for (let i = below(12); i > 0; i -= 1) answers.push([below(9) / 4, below(2) === 0]);
    const sigma = calibrateSigma(judged(answers));
    const all = [...Array.from({ length: 20 }, (_, i) => i / 8), Number.POSITIVE_INFINITY];
    const best = Math.max(...all.map((each) => indexOf(answers, each)));
    assert.ok(indexOf(answers, sigma) > best - 1e-9, JSON.stringify(answers));
  }
});

test("where values say nothing, nothing is doubted", () => {
  const none = Number.POSITIVE_INFINITY;
  assert.equal(calibrateSigma(judged([[0.5, true]])), none);
  assert.equal(
    calibrateSigma(
      judged([
        [0.5, true],
        [0.5, false],
      ]),
    ),
    none,
  );
  assert.equal(
    calibrateSigma(
      judged([
        [0.9, true],
        [0.1, false],
      ]),
    ),
    none,
  );
});

test("answers without a state value are left out, and without a right one there is nothing to find", () => {
  assert.equal(
    calibrateSigma(
      judged([
        [1, true],
        [undefined, true],
        [2, false],
      ]),
    ),
    1.5,
  );
  for (const answers of [[], [[1, false]], [[undefined, true]]] as const) {
    assert.throws(() => calibrateSigma(judged(answers)), { code: "ERR_ARGUMENT" });
  }
});
