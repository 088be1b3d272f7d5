import assert from "node:assert/strict";
import { test } from "node:test";
import {
  explainedVariance,
  type GroupBaseline,
  gae,
  groupAdvantages,
  whiten,
} from "../../../lib/train/algorithm/advantage.ts";
import { type Aggregation, aggregate, algorithms } from "../../../lib/train/algorithm/algorithm.ts";
import { policySequence, type TrainSegment } from "../../../lib/train/batch/sequence.ts";
import { toExperience } from "../../../lib/train/experience.ts";
import { Critic } from "../../../lib/train/learner/critic.ts";
import { Trainer } from "../../../lib/train/learner/trainer.ts";
import { readJson } from "../learner/golden.ts";
import { tinyModel, tinySequence } from "../tiny.ts";

interface GaeCase {
  readonly gamma: number;
  readonly lambda: number;
  readonly rewards: number[];
  readonly values: number[];
  readonly advantages: number[];
  readonly returns: number[];
}

interface Golden extends Record<Exclude<GroupBaseline, "reinforce">, number[]> {
  readonly gae: GaeCase[];
  readonly whitened: number[];
  readonly scores: number[];
  readonly groups: number[];
  readonly values: number[];
  readonly returns: number[];
  readonly explainedVariance: number;
}

const golden = readJson<Golden>("advantages.json");

function same(actual: ArrayLike<number>, expected: readonly number[]): void {
  assert.equal(actual.length, expected.length);
  for (const [i, value] of expected.entries()) assert.ok(Math.abs(actual[i]! - value) < 1e-12);
}

test("GAE equals its definition in float64", () => {
  for (const { rewards, values, advantages, returns, gamma, lambda } of golden.gae) {
    const ours = gae(rewards, values, { gamma, lambda });
    same(ours.advantages, advantages);
    same(ours.returns, returns);
  }
});

test("whitening is over all tokens of the step", () => {
  const white = whiten(golden.gae.map(({ advantages }) => Float64Array.from(advantages)));
  same(
    white.flatMap((one) => [...one]),
    golden.whitened,
  );
});

test("group baselines equal their formulas in float64", () => {
  for (const baseline of ["grpo", "dr-grpo", "rloo", "reinforce++-baseline"] as const) {
    same(groupAdvantages(golden.scores, golden.groups, baseline), golden[baseline]);
  }
});

test("REINFORCE's advantage is the score, in a group of any size", () => {
  assert.deepEqual(groupAdvantages(golden.scores, golden.groups, "reinforce"), golden.scores);
  assert.deepEqual(groupAdvantages([0.5], ["alone"], "reinforce"), [0.5]);
});

test("explained variance equals its formula", () => {
  same([explainedVariance(golden.values, golden.returns)], [golden.explainedVariance]);
});

const segments = (observation: TrainSegment): TrainSegment[] => [
  { kind: "prompt", tokens: Int32Array.of(1, 2, 3) },
  { kind: "policy", tokens: Int32Array.of(4, 5), logprobs: Float32Array.of(-1, -2) },
  observation,
  { kind: "policy", tokens: Int32Array.of(9), logprobs: Float32Array.of(-3) },
];

test("the ids trained are the ids sampled, and only the policy's are rows", () => {
  const sequence = policySequence({
    segments: segments({ kind: "observation", tokens: Int32Array.of(6, 7) }),
  });
  assert.deepEqual([...sequence.tokens], [1, 2, 3, 4, 5, 6, 7, 9]);
  assert.deepEqual(
    [...sequence.rows].map((row) => sequence.tokens[row + 1]),
    [4, 5, 9],
  );
  assert.deepEqual([...sequence.rolloutLogprobs!], [-1, -2, -3]);
});

test("for the ablation of the mask, everything behind the prompt is a row, and without the option nothing changes", () => {
  const given = { segments: segments({ kind: "observation", tokens: Int32Array.of(6, 7) }) };
  const { tokens, rows, rolloutLogprobs } = policySequence(given, "all");
  assert.deepEqual(
    [...rows].map((row) => tokens[row + 1]),
    [4, 5, 6, 7, 9],
  );
  assert.equal(rolloutLogprobs, undefined);
  const unasked = segments({ kind: "observation", tokens: new Int32Array() });
  assert.equal(
    policySequence({ segments: unasked }, "all").rolloutLogprobs,
    undefined,
    "the same in a batch",
  );
  assert.deepEqual(policySequence(given, "policy"), policySequence(given));
});

test("without the mask the score still falls on the last token, and goes back over what was retrieved", async () => {
  await using model = await tinyModel();
  await using trainer = await Trainer.open(model);
  await using critic = await Critic.open(model);
  const algorithm = { advantage: "gae", gamma: 0.5, lambda: 1, lossOn: "all" } as const;
  const observation = { kind: "observation" as const, tokens: Int32Array.of(6, 7) };
  const rewarded = { trajectory: { segments: segments(observation) } as never, reward: 1, group: 0 };
  const { sequences } = await toExperience([rewarded], { trainer, critic }, algorithm, {});
  assert.deepEqual([...sequences[0]!.returns!], [1 / 16, 1 / 8, 1 / 4, 1 / 2, 1]);
});

test("log-probabilities that an observation carries change nothing in the experience", async () => {
  await using model = await tinyModel();
  await using trainer = await Trainer.open(model);
  await using critic = await Critic.open(model);
  const tokens = Int32Array.of(6, 7);
  const garbage = [undefined, Float32Array.of(50, Number.NaN)];
  const [clean, dirty] = await Promise.all(
    garbage.map((logprobs) => {
      const observation = { kind: "observation" as const, tokens, logprobs };
      const trajectory = { segments: segments(observation) } as never;
      const learners = { trainer, critic, reference: model };
      return toExperience([{ trajectory, reward: 1, group: 0 }], learners, algorithms.ppo, {});
    }),
  );
  assert.deepEqual(clean, dirty);
});

test("the KL in the reward is taken from each policy token by the estimator's formula", async () => {
  await using model = await tinyModel();
  await using reference = await tinyModel(2);
  await using trainer = await Trainer.open(model);
  const formulas = {
    k1: (d: number) => -d,
    k2: (d: number) => (d * d) / 2,
    k3: (d: number) => Math.min(10, Math.exp(d) - d - 1),
    abs: (d: number) => Math.abs(d),
  };
  const trajectory = { segments: segments({ kind: "observation", tokens: Int32Array.of(6, 7) }) } as never;
  for (const [estimator, formula] of Object.entries(formulas)) {
    const kl = { in: "reward", estimator: estimator as keyof typeof formulas, coef: 0.3 } as const;
    const rewarded = [{ trajectory, reward: 1, baseline: 0.25, group: 0 }];
    const made = await toExperience(rewarded, { trainer, reference }, { advantage: "remax", kl }, {});
    const { oldLogprobs, referenceLogprobs, advantages } = made.sequences[0]!;
    const taken = Array.from(oldLogprobs!, (old, i) => 0.3 * formula(referenceLogprobs![i]! - old));
    assert.ok(taken.some((one) => Math.abs(one) > 1e-3));
    for (const [i, advantage] of advantages!.entries()) {
      const toGo = 1 - taken.slice(i).reduce((sum, one) => sum + one, 0);
      assert.ok(Math.abs(advantage - (toGo - 0.25)) < 1e-5, `${estimator}: ${advantage}`);
    }
  }
});

test("observations are bridged: advantages do not depend on how many tokens they have", async () => {
  await using model = await tinyModel();
  await using trainer = await Trainer.open(model);
  // Its values are zero at the beginning, so that nothing but the observation's length could tell the two apart.
  await using critic = await Critic.open(model);
  const algorithm = { advantage: "gae", gamma: 0.9, lambda: 0.8 } as const;
  const [short, long] = await Promise.all(
    [2, 20].map(async (numTokens) => {
      const observation = { kind: "observation" as const, tokens: new Int32Array(numTokens).fill(6) };
      const rewarded = { trajectory: { segments: segments(observation) } as never, reward: 1, group: 0 };
      const { sequences } = await toExperience([rewarded], { trainer, critic }, algorithm, {});
      return sequences.map(({ advantages, returns }) => ({ advantages, returns }));
    }),
  );
  assert.deepEqual(short![0]!.returns, Float32Array.of(0.72 ** 2, 0.72, 1));
  assert.deepEqual(long, short);
});

test("GAE steps from one policy token to the next, whatever stands between them", () => {
  const rewards = [0, 0, 1];
  const values = [0.3, 0.2, 0.6];
  const { advantages } = gae(rewards, values, { gamma: 0.9, lambda: 0.8 });
  const last = 1 - 0.6;
  const middle = 0.9 * 0.6 - 0.2 + 0.9 * 0.8 * last;
  same(advantages, [0.9 * 0.2 - 0.3 + 0.9 * 0.8 * middle, middle, last]);
});

test("the shares of the rows add up to the aggregation's total", () => {
  const sequences = [9, 15, 30].map((length) => tinySequence(length, length));
  const rows = sequences.map((sequence) => sequence.rows.length);
  const totals = (aggregation: Aggregation) =>
    aggregate(sequences, aggregation).map(({ weights }) => weights!.reduce((sum, weight) => sum + weight, 0));
  const all = rows.reduce((sum, count) => sum + count, 0);
  const near = (actual: number[], expected: number[]) => {
    for (const [i, value] of expected.entries()) assert.ok(Math.abs(actual[i]! - value) < 1e-6);
  };
  near(
    totals("token-mean"),
    rows.map((count) => count / all),
  );
  near(totals("sequence-mean"), [1 / 3, 1 / 3, 1 / 3]);
  near(
    totals({ tokensPerSequence: 100 }),
    rows.map((count) => count / 300),
  );
});
