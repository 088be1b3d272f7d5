/** Advantages, updates and metrics of trajectories whose context was cut. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Model } from "../../../lib/model/model.ts";
import type { Trajectory } from "../../../lib/rollout/trajectory.ts";
import { gae, whiten } from "../../../lib/train/algorithm/advantage.ts";
import { type Algorithm, aggregate, algorithms } from "../../../lib/train/algorithm/algorithm.ts";
import { toExperience } from "../../../lib/train/experience.ts";
import { Critic } from "../../../lib/train/learner/critic.ts";
import { Trainer } from "../../../lib/train/learner/trainer.ts";
import { rolloutMetrics } from "../../../lib/train/rl-metrics.ts";
import { trajectoryRows } from "../../../lib/train/trajectory-rows.ts";
import { update } from "../../../lib/train/update.ts";
import { maxDifference, tinyModel } from "../tiny.ts";
import { apart, flat, forgetfulRollouts, tokenCount } from "./forgetful.ts";

let model: Model;
let trajectories: readonly Trajectory[];

before(async () => {
  ({ model, trajectories } = await forgetfulRollouts());
});

after(() => model.close());

test("GAE and whitening run over a trajectory's tokens in order, whatever was visible", async () => {
  await using trainer = await Trainer.open(model);
  await using critic = await Critic.open(model);
  const algorithm: Algorithm = { advantage: "gae", gamma: 0.95, lambda: 0.9 };
  const rewarded = trajectories.map((trajectory, i) => ({ trajectory, reward: i % 3, group: 0 }));
  const first = await toExperience(rewarded, { trainer, critic }, algorithm, { maxTokens: 70 });
  // A head that has learnt says something: its values differ from token to token.
  await critic.accumulate(aggregate(first.sequences), { clip: 0 });
  await critic.step({ learningRate: 0.05 });
  const { sequences } = await toExperience(rewarded, { trainer, critic }, algorithm, { maxTokens: 70 });
  const values = await Promise.all(
    trajectories.map(async (trajectory) => flat(await critic.values(apart(trajectory)))),
  );
  assert.ok(new Set(values.flat()).size > 50);
  const expected = whiten(
    values.map((own, i) => {
      const rewards = own.map((_, t) => (t === own.length - 1 ? i % 3 : 0));
      return gae(rewards, own, { gamma: 0.95, lambda: 0.9 }).advantages;
    }),
  );
  for (const [i, { advantages, oldValues }] of sequences.entries()) {
    assert.ok(maxDifference(oldValues!, Float32Array.from(values[i]!)) < 1e-6);
    assert.ok(maxDifference(advantages!, Float32Array.from(expected[i]!)) < 1e-6);
  }
});

test("advantages of groups do not see spans, and token rewards follow the order of the tokens", async () => {
  await using trainer = await Trainer.open(model);
  const tokenRewards = trajectories.map((one) =>
    Float64Array.from({ length: tokenCount(one) }, (_, t) => t / 10),
  );
  const experience = (segmentsOf: (one: Trajectory) => Trajectory["segments"]) => {
    const rewarded = trajectories.map((one, i) => ({
      trajectory: { segments: segmentsOf(one) },
      reward: i,
      tokenRewards: tokenRewards[i]!,
      group: i % 4,
    }));
    return toExperience(rewarded, { trainer }, { advantage: "reinforce++-baseline" }, {});
  };
  const cut = await experience(({ segments }) => segments);
  const uncut = await experience(({ segments }) => segments.map(({ visible: _, ...segment }) => segment));
  assert.deepEqual(
    cut.sequences.map(({ advantages }) => advantages),
    uncut.sequences.map(({ advantages }) => advantages),
  );
});

test("an update on trajectories that forgot reports a gap of zero and moves the weights", async () => {
  await using own = await tinyModel();
  await using trainer = await Trainer.open(own);
  const rewarded = trajectories.map((trajectory, i) => ({ trajectory, reward: i % 2, group: 0 }));
  const batch = { maxTokens: 80 };
  const experience = await toExperience(rewarded, { trainer }, algorithms.gspo, batch);
  const metrics = await update(experience, { trainer }, algorithms.gspo, batch, {
    policy: 1e-3,
    critic: 0,
    seed: 1,
  });
  assert.equal(metrics["logprob_gap/max"], 0);
  assert.ok(metrics.grad_norm > 0);
});

test("the log of a step says what the stacks did, and what was visible", () => {
  const question = { id: "a", question: "?", answers: ["x"] };
  const played = trajectories.map((trajectory) => ({ trajectory, question, reward: 0, group: 0 }));
  const metrics = rolloutMetrics(played);
  const actions = trajectories.flatMap(({ memory }) => memory!.actions);
  const backtracks = actions.filter(({ kind }) => kind === "backtrack").length;
  assert.equal(metrics["memory/actions/backtrack"], backtracks / trajectories.length);
  const pops = actions.reduce((sum, { popped }) => sum + popped, 0);
  assert.equal(metrics["memory/pops"], pops / trajectories.length);
  assert.ok(metrics["memory/visible_tokens"]! < metrics["memory/said_tokens"]!);
  const demoted = actions.filter(({ isDemoted }) => isDemoted).length;
  assert.equal(metrics["memory/demoted"], demoted / trajectories.length);
  assert.ok(!("reward/tokens" in metrics));
  const paid = played.map((one, i) => ({ ...one, reward: 1, tokenRewards: [-0.25 * i, -0.5] }));
  const { "reward/mean": whole, "reward/tokens": lost } = rolloutMetrics(paid);
  assert.deepEqual([whole, lost], [1, -0.5 - (0.25 * (paid.length - 1)) / 2]);
  const [row] = trajectoryRows(1, played, { firstVersion: 0, learnt: new Map() }) as [
    Pick<Trajectory, "memory" | "segments">,
  ];
  assert.deepEqual(row.memory, trajectories[0]!.memory);
  assert.deepEqual(
    row.segments.map(({ visible }) => visible),
    trajectories[0]!.segments.map(({ visible }) => visible),
  );
});
