/** Losses and gradients where the context was cut: those of the turns one by one. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Model } from "../../../lib/model/model.ts";
import type { Trajectory } from "../../../lib/rollout/trajectory.ts";
import { type Aggregation, aggregate } from "../../../lib/train/algorithm/algorithm.ts";
import type { TrainSequence } from "../../../lib/train/batch/packing.ts";
import { policySequence } from "../../../lib/train/batch/sequence.ts";
import { type LossOptions, Trainer } from "../../../lib/train/learner/trainer.ts";
import { filled, maxDifference, noise } from "../tiny.ts";
import { apart, forgetfulRollouts } from "./forgetful.ts";

let model: Model;
let trajectories: readonly Trajectory[];

before(async () => {
  ({ model, trajectories } = await forgetfulRollouts());
});

after(() => model.close());

const losses: Record<string, LossOptions> = {
  likelihood: {},
  clipped: { objective: "clipped", entropyCoef: 0.01, kl: { estimator: "k3", coef: 0.1 } },
  "clipped-sequence": { objective: "clipped-sequence", clipLow: 0.01 },
};

/** Every array a loss may need; the old and reference policies are some way off. */
function withEverything(
  sequences: readonly TrainSequence[],
  aggregation: Aggregation = "token-mean",
): TrainSequence[] {
  return aggregate(
    sequences.map((sequence, i) => ({
      ...sequence,
      advantages: filled(sequence.rows.length, (r) => noise(i + 50, r) * 2 - 1),
      oldLogprobs: sequence.rolloutLogprobs!.map((value, r) => value + 0.6 * noise(i + 60, r) - 0.3),
      referenceLogprobs: sequence.rolloutLogprobs!.map((value, r) => value + noise(i + 70, r) - 0.5),
    })),
    aggregation,
  );
}

async function gradientOf(trainer: Trainer, sequences: readonly TrainSequence[], options: object) {
  await trainer.zeroGradients();
  const stats = await trainer.accumulate(sequences, options);
  return { stats, gradient: await trainer.gradient("model.embed_tokens.weight") };
}

test("loss and gradient are those of the turns one by one, each in its own context", async () => {
  await using trainer = await Trainer.open(model);
  const sequences = withEverything(trajectories.map((trajectory) => policySequence(trajectory)));
  const turns = trajectories.flatMap((trajectory, i) => {
    let row = 0;
    return apart(trajectory).map((alone) => {
      const cut = (values: Float32Array | undefined) => values!.slice(row, row + alone.rows.length);
      const { weights, advantages, oldLogprobs, referenceLogprobs } = sequences[i]!;
      const own = {
        ...alone,
        weights: cut(weights),
        advantages: cut(advantages),
        oldLogprobs: cut(oldLogprobs),
        referenceLogprobs: cut(referenceLogprobs),
      };
      row += alone.rows.length;
      return own;
    });
  });
  for (const name of ["likelihood", "clipped"]) {
    const whole = await gradientOf(trainer, sequences, losses[name]!);
    const single = await gradientOf(trainer, turns, losses[name]!);
    assert.equal(whole.stats.numRows, single.stats.numRows);
    assert.ok(Math.abs(whole.stats.loss - single.stats.loss) < 1e-6);
    assert.ok(maxDifference(whole.gradient, single.gradient) < 1e-6);
    assert.ok(maxDifference(whole.gradient, new Float32Array(whole.gradient.length)) > 1e-3);
  }
});

test("loss and gradient do not depend on how spans are cut into micro-batches", async () => {
  await using trainer = await Trainer.open(model);
  const sequences = withEverything(trajectories.map((trajectory) => policySequence(trajectory)));
  for (const options of Object.values(losses)) {
    const whole = await gradientOf(trainer, sequences, { ...options, maxTokens: 100_000 });
    for (const maxTokens of [1, 90]) {
      const cut = await gradientOf(trainer, [...sequences].reverse(), { ...options, maxTokens });
      assert.ok(Math.abs(cut.stats.loss - whole.stats.loss) < 1e-6);
      assert.ok(maxDifference(cut.gradient, whole.gradient) < 1e-6);
    }
  }
});

test("every aggregation and ratio is that of whole trajectories, in float64", async () => {
  await using trainer = await Trainer.open(model);
  const plain = trajectories.map((trajectory) => policySequence(trajectory));
  const [clipLow, clipHigh] = [0.2, 0.2];
  const clipped = (ratio: number, advantage: number) =>
    -Math.min(ratio * advantage, Math.min(Math.max(ratio, 1 - clipLow), 1 + clipHigh) * advantage);
  for (const aggregation of ["token-mean", "sequence-mean", { tokensPerSequence: 30 }] as const) {
    const sequences = withEverything(plain, aggregation);
    const numRows = sequences.reduce((sum, { rows }) => sum + rows.length, 0);
    for (const objective of ["clipped", "clipped-sequence"] as const) {
      let expected = 0;
      for (const { rows, rolloutLogprobs, oldLogprobs, advantages } of sequences) {
        const distances = [...rolloutLogprobs!].map((value, r) => value - oldLogprobs![r]!);
        const average = distances.reduce((sum, value) => sum + value, 0) / rows.length;
        const losses = distances.map((distance, r) =>
          clipped(Math.exp(objective === "clipped" ? distance : average), advantages![r]!),
        );
        const sum = losses.reduce((total, value) => total + value, 0);
        const share =
          aggregation === "token-mean"
            ? 1 / numRows
            : aggregation === "sequence-mean"
              ? 1 / (rows.length * sequences.length)
              : 1 / (30 * sequences.length);
        expected += share * sum;
      }
      const { policy } = await trainer.accumulate(sequences, { objective, clipLow, clipHigh });
      assert.ok(Math.abs(policy - expected) < 1e-6, `${objective}: ${policy}, not ${expected}`);
    }
  }
});
