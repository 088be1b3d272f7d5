/** The published algorithms do what their papers and their code say. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type Algorithm, aggregate, algorithms } from "../../../lib/train/algorithm/algorithm.ts";
import type { TrainSegment } from "../../../lib/train/batch/sequence.ts";
import { toExperience } from "../../../lib/train/experience.ts";
import { Trainer } from "../../../lib/train/learner/trainer.ts";
import type { Rewarded } from "../../../lib/train/step-rollouts.ts";
import { lossOf, update } from "../../../lib/train/update.ts";
import { goldenModel, goldenSequences } from "../learner/golden.ts";
import { maxDifference, tinyModel } from "../tiny.ts";

const matrix = "model.layers.0.self_attn.o_proj.weight";

/** verl's `kl_penalty(..., "low_var_kl")`, with d = ref - logp. */
const lowVarKl = (d: number): number => Math.max(-10, Math.min(10, Math.exp(d) - d - 1));

test("k3 in the loss bounds the estimate at 10, as verl's low_var_kl, and has no gradient there", async () => {
  await using model = await goldenModel("qwen2");
  await using trainer = await Trainer.open(model);
  const logprobs = await trainer.logprobs(goldenSequences);
  for (const distance of [-10.5, -2, 1, 2.5, 5, 30]) {
    const sequences = goldenSequences.map((sequence, i) => ({
      ...sequence,
      advantages: new Float32Array(sequence.rows.length),
      referenceLogprobs: logprobs[i]!.map((logprob) => logprob + distance),
    }));
    const kl = { estimator: "k3", coef: 1 } as const;
    const stats = await trainer.accumulate(sequences, { objective: "clipped", kl });
    const expected = lowVarKl(distance);
    assert.ok(
      Math.abs(stats.kl / stats.numRows - expected) < 1e-4,
      `${distance}: ${stats.kl / stats.numRows}`,
    );
    const gradient = Math.hypot(...(await trainer.gradient(matrix)));
    assert.equal(gradient > 0, expected < 10, `${distance}: ${gradient}`);
    await trainer.zeroGradients();
  }
});

/** A trajectory whose rollout gave these log-probabilities. */
function told(logprobs: readonly number[], reward = 0, group = 0): Rewarded {
  const prompt: TrainSegment = { kind: "prompt", tokens: Int32Array.of(1, 2) };
  const tokens = Int32Array.from(logprobs, (_, i) => (reward > 0.5 ? 20 : 3) + i);
  const policy: TrainSegment = { kind: "policy", tokens, logprobs: Float32Array.from(logprobs) };
  return { trajectory: { segments: [prompt, policy] as never }, reward, group };
}

test("k3 in the reward bounds the estimate at 10 too", async () => {
  await using model = await tinyModel();
  await using trainer = await Trainer.open(model);
  const algorithm: Algorithm = { advantage: "remax", kl: { in: "reward", estimator: "k3", coef: 1 } };
  for (const old of [8, 2, -10, -60]) {
    const { sequences } = await toExperience([told([old])], { trainer, reference: model }, algorithm, {
      oldLogprobs: "rollout",
    });
    const { referenceLogprobs, advantages } = sequences[0]!;
    const expected = -lowVarKl(referenceLogprobs![0]! - old);
    assert.ok(Math.abs(advantages![0]! - expected) < 1e-4, `${old}: ${advantages![0]} and not ${expected}`);
  }
});

const rewards = Array.from({ length: 32 }, (_, i) =>
  told(
    Array.from({ length: 2 + (i % 3) }, () => -1),
    i % 2,
    i >> 2,
  ),
);

test("a question whose samples all earn the same is not run, and the step is what it would be if it were", async () => {
  const same = rewards.map((each, i) => (i < 12 ? each : { ...each, reward: 1 }));
  const grpo: Algorithm = { advantage: "grpo" };
  await using model = await tinyModel();
  await using copy = await model.clone();
  await using trainer = await Trainer.open(model, { weightDecay: 0 });
  await using whole = await Trainer.open(copy, { weightDecay: 0 });
  const numRun: number[] = [];
  const accumulate = trainer.accumulate.bind(trainer);
  trainer.accumulate = (sequences, options) => {
    numRun.push(sequences.length);
    return accumulate(sequences, options);
  };
  const experience = await toExperience(same, { trainer }, grpo, {});
  const metrics = await update(experience, { trainer }, grpo, {}, { policy: 1e-2, critic: 0, seed: 1 });
  assert.deepEqual(numRun, [12]);
  const stats = await whole.accumulate(aggregate(experience.sequences), lossOf(grpo, 1));
  await whole.step({ learningRate: 1e-2 });
  assert.ok(Math.abs(metrics["policy/loss"] - stats.policy) < 1e-6);
  assert.ok(maxDifference(await model.parameter(matrix), await copy.parameter(matrix)) < 1e-5);
});

for (const [name, steps] of [
  ["dapo", 16],
  ["gspo", 4],
  ["cispo", 16],
  ["grpo", 2],
] as const) {
  test(`${name} takes ${steps} optimiser steps a batch, and its clip acts`, async () => {
    await using model = await tinyModel();
    await using reference = await tinyModel();
    await using trainer = await Trainer.open(model);
    const learners = { trainer, reference };
    const experience = await toExperience(rewards, learners, algorithms[name], {});
    const rates = { policy: 2e-2, critic: 0, seed: 1 };
    const metrics = await update(experience, learners, algorithms[name], {}, rates);
    assert.equal(trainer.numSteps, steps);
    assert.ok(metrics["policy/clip_fraction"] > 0);
  });
}

test("GRPO of Search-R1 gives every token of an optimiser step the same weight", () => {
  assert.equal((algorithms.grpo as Algorithm).aggregation, undefined);
  assert.equal(lossOf(algorithms.grpo, 1).kl?.estimator, "k3");
});

test("REINFORCE++ takes the KL from each token's reward and compares every token with all of the step", async () => {
  await using model = await tinyModel();
  await using reference = await tinyModel(2);
  await using trainer = await Trainer.open(model);
  const algorithm: Algorithm = {
    ...algorithms["reinforce++"],
    kl: { ...algorithms["reinforce++"].kl, coef: 0.3 },
    gamma: 0.9,
  };
  const rewarded = [told([-1, -1, -1], 1, 0), told([-1, -1], 0.25, 1)];
  const { sequences } = await toExperience(rewarded, { trainer, reference }, algorithm, {});
  const returns = sequences.map(({ oldLogprobs, referenceLogprobs }, i) => {
    const costs = Array.from(oldLogprobs!, (old, t) => 0.3 * (old - referenceLogprobs![t]!));
    let toGo = 0;
    return costs
      .map((cost, t) => (t === costs.length - 1 ? rewarded[i]!.reward : 0) - cost)
      .reverse()
      .map((reward) => (toGo = reward + 0.9 * toGo))
      .reverse();
  });
  const all = returns.flat();
  const mean = all.reduce((sum, one) => sum + one, 0) / all.length;
  const variance = all.reduce((sum, one) => sum + (one - mean) ** 2, 0) / (all.length - 1);
  for (const [i, { advantages }] of sequences.entries()) {
    for (const [t, advantage] of advantages!.entries()) {
      const expected = (returns[i]![t]! - mean) / Math.sqrt(variance + 1e-8);
      assert.ok(Math.abs(advantage - expected) < 1e-4, `${advantage} and not ${expected}`);
    }
  }
});

test("one rollout of each question is enough for REINFORCE++, and not for its baseline variant", async () => {
  const { checkSamples } = await import("../../../lib/train/step-rollouts.ts");
  checkSamples(1, algorithms["reinforce++"]);
  assert.throws(() => checkSamples(1, algorithms["reinforce++-baseline"]), /at least 2 samples/);
});
