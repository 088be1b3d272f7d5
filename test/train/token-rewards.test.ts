/** Rewards that fall on single tokens, through GAE and through the baselines of groups. */
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  type GroupBaseline,
  gae,
  groupAdvantages,
  tokenAdvantages,
  whiten,
} from "../../lib/train/algorithm/advantage.ts";
import { toExperience } from "../../lib/train/experience.ts";
import { Critic } from "../../lib/train/learner/critic.ts";
import { Trainer } from "../../lib/train/learner/trainer.ts";
import type { Rewarded } from "../../lib/train/step-rollouts.ts";
import { noise, tinyModel } from "./tiny.ts";

const baselines: GroupBaseline[] = ["grpo", "dr-grpo", "rloo", "reinforce", "reinforce++-baseline"];
const lengths = [3, 7, 1, 12];
const groups = ["a", "a", "a", "b"];
const scores = [1, -0.5, 0.25, 2];
const rewards = lengths.map((length, i) => Array.from({ length }, (_, t) => noise(i + 1, t) - 0.3));

function near(actual: ArrayLike<number>, expected: readonly number[]): void {
  assert.equal(actual.length, expected.length);
  for (const [i, value] of expected.entries()) {
    assert.ok(Math.abs(actual[i]! - value) < 1e-9, `${actual[i]} ${value}`);
  }
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
const average = (values: readonly number[]): number => sum(values) / values.length;

test("a token's advantage is what is still to come, less what the group still gets there on average", () => {
  const ours = tokenAdvantages(scores, rewards, groups, { baseline: "dr-grpo" });
  for (const i of [0, 1, 2]) {
    const expected = rewards[i]!.map((_, t) => {
      const toGo = scores[i]! + sum(rewards[i]!.slice(t));
      const part = 1 - t / lengths[i]!;
      return toGo - average(scores.slice(0, 3)) - part * average(rewards.slice(0, 3).map(sum));
    });
    near(ours[i]!, expected);
  }
  near(
    ours[3]!,
    rewards[3]!.map((_, t) => scores[3]! + sum(rewards[3]!.slice(t))),
  );
});

test("the first token's advantage is that of the trajectory's whole worth, under every baseline", () => {
  const totals = scores.map((score, i) => score + sum(rewards[i]!));
  for (const baseline of baselines) {
    const ours = tokenAdvantages(scores, rewards, groups, { baseline });
    near(
      ours.map((one) => one[0]!),
      groupAdvantages(totals, groups, baseline),
    );
  }
});

test("rewards of zero leave the group's advantages as they are", () => {
  const none = lengths.map((length) => new Float64Array(length));
  for (const baseline of baselines) {
    const whole = groupAdvantages(scores, groups, baseline);
    for (const [i, one] of tokenAdvantages(scores, none, groups, { baseline }).entries()) {
      near(one, Array(lengths[i]).fill(whole[i]!));
    }
  }
});

test("the ratio of Agentic-RAG-R1 is r z / R, its sign for negative rewards included, and 0 where R is 0", () => {
  const whole = groupAdvantages(scores, groups, "grpo");
  const ours = tokenAdvantages(scores, rewards, groups, { baseline: "grpo", credit: "ratio" });
  for (const [i, one] of ours.entries()) {
    near(
      one,
      rewards[i]!.map((reward) => (reward * whole[i]!) / scores[i]!),
    );
  }
  const [zero] = tokenAdvantages([0, 1], [[1], [1]], [0, 0], { baseline: "grpo", credit: "ratio" });
  assert.deepEqual([...zero!], [0]);
});

const rewarded = (values: readonly number[] | undefined, reward: number): Rewarded => ({
  trajectory: {
    segments: [
      { kind: "prompt", tokens: Int32Array.of(1, 2, 3), text: "" },
      { kind: "policy", tokens: Int32Array.of(4, 5), logprobs: Float32Array.of(-1, -2), text: "" },
      { kind: "observation", tokens: Int32Array.of(6, 7), text: "" },
      { kind: "policy", tokens: Int32Array.of(9), logprobs: Float32Array.of(-3), text: "" },
    ],
  },
  reward,
  tokenRewards: values,
  group: 0,
});

test("GAE sees each token's reward where it falls, and the score on the last", async () => {
  await using model = await tinyModel();
  await using trainer = await Trainer.open(model);
  await using critic = await Critic.open(model);
  const algorithm = { advantage: "gae", gamma: 0.9, lambda: 0.8 } as const;
  const learners = { trainer, critic };
  const { sequences } = await toExperience([rewarded([0.5, 0, -1], 2)], learners, algorithm, {});
  const { advantages, returns } = gae([0.5, 0, 1], [0, 0, 0], algorithm);
  assert.deepEqual(sequences[0]!.returns, Float32Array.from(returns));
  assert.deepEqual(sequences[0]!.advantages, Float32Array.from(whiten([advantages])[0]!));
});

test("groups compare rewards of tokens, and trajectories without them have none", async () => {
  await using model = await tinyModel();
  await using trainer = await Trainer.open(model);
  const played = [rewarded([0.5, 0, -1], 2), rewarded(undefined, 1)];
  const { sequences } = await toExperience(played, { trainer }, { advantage: "rloo" }, {});
  const expected = tokenAdvantages(
    [2, 1],
    [
      [0.5, 0, -1],
      [0, 0, 0],
    ],
    [0, 0],
    { baseline: "rloo" },
  );
  assert.deepEqual(
    sequences.map(({ advantages }) => advantages),
    expected.map((one) => Float32Array.from(one)),
  );
});

test("rewards for another number of tokens are refused", async () => {
  await using model = await tinyModel();
  await using trainer = await Trainer.open(model);
  const wrong = [rewarded([1, 2], 0), rewarded(undefined, 0)];
  await assert.rejects(toExperience(wrong, { trainer }, { advantage: "rloo" }, {}), {
    code: "ERR_SHAPE",
    message: "tokenRewards of trajectory 0: expected 3 numbers, got 2",
  });
});
