/** Rewarded trajectories and all that the update needs to know about them before the weights move. */
import { SeekError } from "../base/errors.ts";
import {
  explainedVariance,
  type GroupBaseline,
  gae,
  groupAdvantages,
  rewardsToGo,
  tokenAdvantages,
  whiten,
} from "./algorithm/advantage.ts";
import type { Algorithm } from "./algorithm/algorithm.ts";
import type { KlEstimator } from "./algorithm/names.ts";
import type { TrainSequence } from "./batch/packing.ts";
import { policySequence } from "./batch/sequence.ts";
import { type SequenceScores, scoreSequences } from "./learner/trainer.ts";
import { mean } from "./rl-metrics.ts";
import type { Learners, RlBatch } from "./rl-options.ts";
import type { Rewarded } from "./step-rollouts.ts";

/** What the update works on. */
export interface Experience {
  /** With advantages, and where they are needed old and reference log-probabilities, returns and old values. */
  readonly sequences: readonly TrainSequence[];
  /** What the trainer made of each row before the update, where it scored the sequences. */
  readonly scores?: SequenceScores | undefined;
  /** |log-prob of the engine - log-prob of the trainer| over policy tokens (law 4), when it was measured here. */
  readonly gap?: { readonly mean: number; readonly max: number };
  /** Mean KL to the reference per token, when it was taken from the rewards. */
  readonly referenceKl?: number;
  /** The same, first over each trajectory's tokens, then over trajectories. */
  readonly trajectoryKl?: number;
  readonly explainedVariance?: number;
  readonly meanValue?: number;
}

interface ExperienceBatch extends Pick<RlBatch, "sampling" | "maxTokens" | "oldLogprobs" | "staleness"> {
  /** Whether the trainer scores the sequences also where the update does not need it: one forward more. @default false */
  readonly isScored?: boolean | undefined;
}

/** Log-probabilities count at the temperature that the tokens were drawn at. */
function scoringOf({ sampling, maxTokens }: ExperienceBatch) {
  return { temperature: sampling?.temperature, maxTokens };
}

/** Whether the policy moves between this log-probability and the loss that uses it. */
function movesDuringUpdate({ epochs = 1, miniBatches = 1 }: Algorithm): boolean {
  return epochs * miniBatches > 1;
}

function klOf(estimator: KlEstimator, old: number, reference: number): number {
  const distance = reference - old;
  if (estimator === "k1") return -distance;
  if (estimator === "k2") return 0.5 * distance ** 2;
  if (estimator === "abs") return Math.abs(distance);
  // The estimate is bounded and not the distance, as in the loss (native/train/loss.h) and in verl's low_var_kl.
  return Math.min(10, Math.exp(Math.min(20, distance)) - distance - 1);
}

/** Of stale rollouts, over the tokens that weights of this version sampled. */
function gapOf(
  sequences: readonly TrainSequence[],
  logprobs: readonly Float32Array[],
  version: number | undefined,
): Experience["gap"] {
  let [count, sum, max] = [0, 0, 0];
  for (const [s, { rolloutLogprobs, weightsVersions }] of sequences.entries()) {
    if (rolloutLogprobs === undefined) return undefined;
    for (const [i, ours] of logprobs[s]!.entries()) {
      if (version !== undefined && weightsVersions?.[i] !== version) continue;
      const gap = Math.abs(ours - rolloutLogprobs[i]!);
      [count, sum, max] = [count + 1, sum + gap, Math.max(max, gap)];
    }
  }
  return count === 0 && version !== undefined ? undefined : { mean: sum / Math.max(1, count), max };
}

/** The score falls on the last policy token, the KL penalty on each (law 2: policy tokens only). */
function rewardsOf(
  { reward, tokenRewards }: Rewarded,
  penalties: Float64Array | undefined,
  numRows: number,
): Float64Array {
  const rewards = new Float64Array(numRows);
  if (numRows === 0) return rewards;
  if (penalties !== undefined) for (let i = 0; i < numRows; i += 1) rewards[i] = -penalties[i]!;
  if (tokenRewards !== undefined) for (let i = 0; i < numRows; i += 1) rewards[i]! += tokenRewards[i]!;
  rewards[numRows - 1]! += reward;
  return rewards;
}

function checkTokenRewards(rewarded: readonly Rewarded[], sequences: readonly TrainSequence[]): void {
  for (const [i, { tokenRewards }] of rewarded.entries()) {
    const expected = sequences[i]!.rows.length;
    if (tokenRewards === undefined || tokenRewards.length === expected) continue;
    throw new SeekError(
      "ERR_SHAPE",
      `tokenRewards of trajectory ${i}: expected ${expected} numbers, got ${tokenRewards.length}`,
    );
  }
}

function criticAdvantages(
  sequences: readonly TrainSequence[],
  rewards: readonly Float64Array[],
  values: readonly Float32Array[],
  algorithm: Algorithm,
) {
  const estimates = rewards.map((reward, i) => gae(reward, values[i]!, algorithm));
  const advantages = whiten(estimates.map((estimate) => estimate.advantages));
  const flatReturns = estimates.flatMap(({ returns }) => [...returns]);
  const flatValues = values.flatMap((one) => [...one]);
  return {
    explainedVariance: explainedVariance(flatValues, flatReturns),
    meanValue: mean(flatValues),
    sequences: sequences.map((sequence, i) => ({
      ...sequence,
      advantages: Float32Array.from(advantages[i]!),
      returns: Float32Array.from(estimates[i]!.returns),
      oldValues: values[i]!,
    })),
  };
}

function baselineAdvantages(
  sequences: readonly TrainSequence[],
  scores: readonly number[],
  rewarded: readonly Rewarded[],
  baseline: GroupBaseline,
  credit: Algorithm["tokenRewards"],
) {
  const groups = rewarded.map(({ group }) => group);
  const hasTokenRewards = rewarded.some(({ tokenRewards }) => tokenRewards !== undefined);
  const rewards = sequences.map(({ rows }, i) => rewarded[i]!.tokenRewards ?? new Float64Array(rows.length));
  const whole = hasTokenRewards ? [] : groupAdvantages(scores, groups, baseline);
  const perToken = hasTokenRewards
    ? tokenAdvantages(scores, rewards, groups, { baseline, credit })
    : sequences.map(({ rows }, i) => new Float64Array(rows.length).fill(whole[i]!));
  const final = baseline === "reinforce++-baseline" ? whiten(perToken) : perToken;
  return sequences.map((sequence, i) => ({ ...sequence, advantages: Float32Array.from(final[i]!) }));
}

/** What is earned from each token on: less the greedy answer's reward (ReMax), or whitened (REINFORCE++). */
function toGoAdvantages(
  sequences: readonly TrainSequence[],
  rewarded: readonly Rewarded[],
  penalties: readonly Float64Array[] | undefined,
  { advantage, gamma }: Algorithm,
): TrainSequence[] {
  const toGo = rewarded.map((each, i) => {
    const rewards = rewardsOf(each, penalties?.[i], sequences[i]!.rows.length);
    if (advantage === "remax") return rewardsToGo(rewards, { baseline: each.baseline });
    return rewardsToGo(rewards, { gamma });
  });
  const final = advantage === "remax" ? toGo : whiten(toGo);
  return sequences.map((sequence, i) => ({ ...sequence, advantages: Float32Array.from(final[i]!) }));
}

function fromRollout(sequences: readonly TrainSequence[]): TrainSequence[] {
  return sequences.map((sequence) => {
    const { rolloutLogprobs } = sequence;
    if (rolloutLogprobs !== undefined) return { ...sequence, oldLogprobs: rolloutLogprobs };
    throw new SeekError("ERR_ARGUMENT", "oldLogprobs: the rollout gave none; use those of the trainer");
  });
}

/** Old log-probabilities where the update needs them, and what the trainer made of the rows where it was asked. */
async function beforeUpdate(
  sequences: readonly TrainSequence[],
  { trainer }: Learners,
  algorithm: Algorithm,
  batch: ExperienceBatch,
): Promise<Pick<Experience, "sequences" | "scores" | "gap">> {
  const isStale = (batch.staleness ?? 0) > 0;
  const needsOld =
    movesDuringUpdate(algorithm) ||
    algorithm.kl?.in === "reward" ||
    (isStale && batch.oldLogprobs === "rollout");
  const isFromTrainer = needsOld && batch.oldLogprobs !== "rollout";
  const isScored = isFromTrainer || batch.isScored === true;
  const { processGroup, policy } = trainer;
  const scoring = { ...scoringOf(batch), processGroup };
  const scores = isScored ? await scoreSequences(policy, sequences, scoring) : undefined;
  const version = isStale ? policy.weightsVersion : undefined;
  const gap = scores && (isStale || isFromTrainer) ? gapOf(sequences, scores.logprobs, version) : undefined;
  if (!needsOld) return { sequences, scores, gap };
  if (scores === undefined || !isFromTrainer) return { sequences: fromRollout(sequences), scores, gap };
  const scored = sequences.map((each, i) => ({ ...each, oldLogprobs: scores.logprobs[i]! }));
  return { sequences: scored, scores, gap };
}

async function withReference(
  sequences: readonly TrainSequence[],
  learners: Learners,
  batch: ExperienceBatch,
): Promise<TrainSequence[]> {
  const model = learners.reference;
  if (model === undefined) return [...sequences];
  const { processGroup } = learners.trainer;
  const { logprobs } = await scoreSequences(model, sequences, { ...scoringOf(batch), processGroup });
  return sequences.map((sequence, i) => ({ ...sequence, referenceLogprobs: logprobs[i]! }));
}

function distancesOf(sequences: readonly TrainSequence[], estimator: KlEstimator): Float64Array[] {
  return sequences.map(({ oldLogprobs, referenceLogprobs }) =>
    Float64Array.from(oldLogprobs!, (old, i) => klOf(estimator, old, referenceLogprobs![i]!)),
  );
}

function meanDistances(distances: readonly Float64Array[]) {
  const sums = distances.map((one) => one.reduce((sum, value) => sum + value, 0));
  const numTokens = distances.reduce((count, { length }) => count + length, 0);
  const means = sums.flatMap((sum, i) => (distances[i]!.length === 0 ? [] : [sum / distances[i]!.length]));
  return {
    referenceKl: sums.reduce((sum, value) => sum + value, 0) / Math.max(1, numTokens),
    trajectoryKl: mean(means),
  };
}

/**
 * Turns rewarded trajectories into experience: ids as sampled, log-probabilities under the current and the reference
 * policy, values, advantages. Trajectories without a policy token count in their group but are not trained on.
 *
 * @param rewarded - the step's trajectories
 * @param learners - trainer, critic, reference
 * @param algorithm - which advantages, which KL
 * @param batch - how rollouts are drawn; tokens of one forward; whose old log-probabilities
 * @returns one sequence per trajectory, and what was measured on the way
 * @throws ERR_ARGUMENT when the rollout's log-probabilities are asked for and missing
 */
export async function toExperience(
  rewarded: readonly Rewarded[],
  learners: Learners,
  algorithm: Algorithm,
  batch: ExperienceBatch,
): Promise<Experience> {
  let sequences: readonly TrainSequence[] = rewarded.map(({ trajectory }) =>
    policySequence(trajectory, algorithm.lossOn),
  );
  checkTokenRewards(rewarded, sequences);
  const { kl } = algorithm;
  const { gap, scores, ...before } = await beforeUpdate(sequences, learners, algorithm, batch);
  sequences = before.sequences;
  if (kl !== undefined) sequences = await withReference(sequences, learners, batch);
  const distances = kl?.in === "reward" ? distancesOf(sequences, kl.estimator) : undefined;
  const penalties = distances?.map((one) => one.map((distance) => (kl?.coef ?? 0) * distance));
  const known = { gap, scores, ...(distances && meanDistances(distances)) };
  if (algorithm.advantage === "gae") {
    const rewards = sequences.map(({ rows }, i) => rewardsOf(rewarded[i]!, penalties?.[i], rows.length));
    const values = await learners.critic!.values(sequences, { maxTokens: batch.maxTokens });
    return { ...known, ...criticAdvantages(sequences, rewards, values, algorithm) };
  }
  if (algorithm.advantage === "remax" || algorithm.advantage === "reinforce++") {
    return { ...known, sequences: toGoAdvantages(sequences, rewarded, penalties, algorithm) };
  }
  const totals = rewarded.map(
    ({ reward }, i) => reward - (penalties?.[i]?.reduce((sum, one) => sum + one, 0) ?? 0),
  );
  const { advantage: baseline, tokenRewards: credit } = algorithm;
  return { ...known, sequences: baselineAdvantages(sequences, totals, rewarded, baseline, credit) };
}
