/** Training on what was visible: laws 3 and 4 where the context was cut. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Model } from "../../../lib/model/model.ts";
import type { Trajectory } from "../../../lib/rollout/trajectory.ts";
import { algorithms } from "../../../lib/train/algorithm/algorithm.ts";
import { policySequence, sftSequence, type TrainSegment } from "../../../lib/train/batch/sequence.ts";
import { toExperience } from "../../../lib/train/experience.ts";
import { Critic } from "../../../lib/train/learner/critic.ts";
import { scoreSequences, Trainer } from "../../../lib/train/learner/trainer.ts";
import { apart, flat, forgetfulRollouts, kinds, tokenCount } from "./forgetful.ts";

let model: Model;
let trajectories: readonly Trajectory[];

before(async () => {
  ({ model, trajectories } = await forgetfulRollouts());
});

after(() => model.close());

test("the rollouts of these tests pop, plan again and grow past what they show", () => {
  const actions = trajectories.flatMap(({ memory }) => memory!.actions);
  for (const kind of kinds)
    assert.ok(
      actions.some((action) => action.kind === kind),
      kind,
    );
  assert.ok(actions.filter(({ popped }) => popped > 0).length > 20);
  assert.ok(actions.some(({ popped }) => popped > 1));
  assert.ok(trajectories.some(({ memory }) => memory!.peakTokens < memory!.totalTokens / 2));
});

test("each sampled token is trained once, behind just what was visible when it was sampled", () => {
  for (const trajectory of trajectories) {
    const { tokens, starts = [0], rows, rolloutLogprobs } = policySequence(trajectory);
    assert.equal(rows.length, tokenCount(trajectory));
    const start = (row: number) => [...starts].findLast((begin) => begin <= row)!;
    const ours = [...rows].map((row) => [...tokens.slice(start(row), row + 2)]);
    const truth = apart(trajectory).flatMap((alone) =>
      [...alone.rows].map((row) => [...alone.tokens.slice(0, row + 2)]),
    );
    assert.deepEqual(ours, truth);
    assert.deepEqual([...rolloutLogprobs!], flat(apart(trajectory).map((alone) => alone.rolloutLogprobs!)));
  }
});

test("the trainer's log-probabilities are the rollout's bit for bit, whatever was forgotten (law 4)", async () => {
  await using trainer = await Trainer.open(model);
  const sequences = trajectories.map((trajectory) => policySequence(trajectory));
  for (const maxTokens of [64, 4096]) {
    const logprobs = await trainer.logprobs(sequences, { maxTokens });
    assert.deepEqual(
      logprobs,
      sequences.map(({ rolloutLogprobs }) => rolloutLogprobs),
    );
  }
  await using critic = await Critic.open(model);
  const learners = { trainer, critic, reference: model };
  const rewarded = trajectories.map((trajectory, i) => ({ trajectory, reward: i % 2, group: 0 }));
  const { gap } = await toExperience(rewarded, learners, algorithms.ppo, {});
  assert.deepEqual(gap, { mean: 0, max: 0 });
});

test("without a pop, saying what was visible changes nothing: the same arrays, so the same gradient bytes", () => {
  const plain: TrainSegment[] = [
    { kind: "prompt", tokens: Int32Array.of(1, 2, 3) },
    { kind: "policy", tokens: Int32Array.of(4, 5), logprobs: Float32Array.of(-1, -2) },
    { kind: "observation", tokens: Int32Array.of(6, 7) },
    { kind: "policy", tokens: Int32Array.of(9), logprobs: Float32Array.of(-3) },
  ];
  const said = plain.map((segment, i) =>
    segment.kind === "policy" ? { ...segment, visible: plain.map((_, j) => j).slice(0, i) } : segment,
  );
  const expected = {
    tokens: Int32Array.of(1, 2, 3, 4, 5, 6, 7, 9),
    rows: Int32Array.of(2, 3, 6),
    rolloutLogprobs: Float32Array.of(-1, -2, -3),
    starts: undefined,
  };
  assert.deepEqual(policySequence({ segments: plain }), expected);
  assert.deepEqual(policySequence({ segments: said }), expected);
});

test("entropies and log-probabilities of a reference come back in the order of the tokens", async () => {
  const sequences = trajectories.map((trajectory) => policySequence(trajectory));
  const scores = await scoreSequences(model, sequences, { maxTokens: 50 });
  for (const [i, trajectory] of trajectories.entries()) {
    const alone = await scoreSequences(model, apart(trajectory));
    assert.deepEqual([...scores.logprobs[i]!], flat(alone.logprobs));
    assert.deepEqual([...scores.entropies[i]!], flat(alone.entropies));
  }
});

test("a demonstration may forget too: each token has its weight once, the policy's in its own context", () => {
  const segments: TrainSegment[] = [
    { kind: "prompt", tokens: Int32Array.of(1, 2) },
    { kind: "policy", tokens: Int32Array.of(3) },
    { kind: "observation", tokens: Int32Array.of(4) },
    { kind: "policy", tokens: Int32Array.of(5) },
    { kind: "policy", tokens: Int32Array.of(6), visible: [0, 3] },
  ];
  const only = sftSequence(segments);
  assert.deepEqual([...only.tokens], [1, 2, 3, 4, 5, 1, 2, 5, 6]);
  assert.deepEqual([...only.starts!], [0, 5]);
  assert.deepEqual([...only.rows], [1, 3, 7]);
  const all = sftSequence(segments, { otherWeight: 0.5 });
  assert.deepEqual([...all.rows], [0, 1, 2, 3, 7]);
  assert.deepEqual([...all.weights!], [0.5, 1, 0.5, 1, 1]);
});
