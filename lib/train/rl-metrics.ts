/** A step's rollouts as metrics and as rows of the run log. */

import { exactMatch } from "../reward/metrics/metrics.ts";
import { loggedMemory, memoryFigures } from "../rollout/memory-figures.ts";
import { differs } from "./dynamic-sampling.ts";
import type { RewardedRollout, SampledRollout } from "./step-rollouts.ts";

/** The arithmetic mean; 0 of nothing. */
export function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);
}

function sumOf(values: ArrayLike<number>): number {
  return Array.from(values).reduce((sum, value) => sum + value, 0);
}

function deviation(values: readonly number[]): number {
  const centre = mean(values);
  return Math.sqrt(mean(values.map((value) => (value - centre) ** 2)));
}

function countTokens({ trajectory }: RewardedRollout, kind?: string): number {
  return trajectory.segments
    .filter((segment) => kind === undefined || segment.kind === kind)
    .reduce((sum, { tokens }) => sum + tokens.length, 0);
}

/** Exact match: 1 or 0. */
export function isRight({
  trajectory: { answer },
  question,
}: Pick<RewardedRollout, "trajectory" | "question">): number {
  return answer === undefined ? 0 : exactMatch(answer, question.answers);
}

/**
 * Means over the step's trajectories; `tokens` and `tokens/policy` are sums, `turns/invalid_share` is of all turns.
 * `reward/total` is the reward with that of single tokens; `tokens/response` counts what one trajectory's policy wrote.
 */
export function rolloutMetrics(rewarded: readonly RewardedRollout[]): Record<string, number> {
  const trajectories = rewarded.map(({ trajectory }) => trajectory);
  const rewards = rewarded.map(({ reward }) => reward);
  const memory = memoryFigures(trajectories);
  const ofTokens = rewarded.flatMap(({ tokenRewards }) => (tokenRewards ? [sumOf(tokenRewards)] : []));
  const numTurns = trajectories.reduce((sum, { turns }) => sum + turns, 0);
  const numInvalid = trajectories.reduce((sum, { invalidActions }) => sum + invalidActions, 0);
  const policyTokens = rewarded.reduce((sum, one) => sum + countTokens(one, "policy"), 0);
  return {
    "reward/mean": mean(rewards),
    "reward/std": deviation(rewards),
    ...(ofTokens.length === 0 ? {} : { "reward/tokens": mean(ofTokens) }),
    "reward/total": mean(rewards) + mean(ofTokens),
    "em/mean": mean(rewarded.map(isRight)),
    "search/share": mean(trajectories.map(({ rounds }) => (rounds > 0 ? 1 : 0))),
    "search/rounds": mean(trajectories.map(({ rounds }) => rounds)),
    "search/failures": trajectories.reduce((sum, { failures }) => sum + failures, 0),
    "search/dropped": trajectories.reduce((sum, { droppedQueries = 0 }) => sum + droppedQueries, 0),
    "turns/invalid_share": numInvalid / Math.max(1, numTurns),
    "turns/mean": mean(trajectories.map(({ turns }) => turns)),
    "stop/answer": mean(trajectories.map(({ stop }) => (stop === "answer" ? 1 : 0))),
    tokens: rewarded.reduce((sum, one) => sum + countTokens(one), 0),
    "tokens/policy": policyTokens,
    "tokens/response": policyTokens / Math.max(1, rewarded.length),
    ...metricsBySource(rewarded),
    ...(memory === undefined ? {} : loggedMemory(memory)),
  };
}

/** Reward and exact match of each data set, where the questions come from several. */
function metricsBySource(rewarded: readonly RewardedRollout[]): Record<string, number> {
  const sources = [...new Set(rewarded.map(({ question }) => question.source))];
  if (sources.length < 2) return {};
  return Object.fromEntries(
    sources.flatMap((source) => {
      const own = rewarded.filter(({ question }) => question.source === source);
      const name = source ?? "other";
      return [
        [`reward/mean/${name}`, mean(own.map(({ reward }) => reward))],
        [`em/mean/${name}`, mean(own.map(isRight))],
      ];
    }),
  );
}

/** What the rewards of a question's rollouts say of one another; means over questions. */
export function groupMetrics(groups: readonly (readonly SampledRollout[])[]): Record<string, number> {
  const greedy = groups.flatMap(([first]) => (first?.baseline === undefined ? [] : [first.baseline]));
  return {
    "groups/asked": groups.length,
    "groups/equal": mean(groups.map((group) => (differs(group) ? 0 : 1))),
    ...(greedy.length === 0 ? {} : { "reward/greedy": mean(greedy) }),
  };
}

/** Whether a rollout was made by a pool, whose places must be told apart. */
export function isOfPool({ trajectory }: Pick<RewardedRollout, "trajectory">): boolean {
  return trajectory.worker !== undefined;
}

/** Of each rollout, the log-probabilities of the place that sampled it, and the trainer's. */
interface Scored {
  readonly sequences: readonly { readonly rolloutLogprobs?: Float32Array | undefined }[];
  readonly scores?: { readonly logprobs: readonly Float32Array[] } | undefined;
}

interface Tally {
  rollouts: number;
  tokens: number;
  sum: number;
  max: number;
}

/**
 * Means over the tokens that each place sampled, under its name; `workers/moved` counts rollouts that were begun anew because
 * a worker failed.
 *
 * @param rewarded - the rollouts that were learnt from
 * @param experience - what was made of them; without the trainer's scores there are no gaps
 * @returns nothing where no pool made them
 */
export function workerMetrics(
  rewarded: readonly RewardedRollout[],
  { sequences, scores }: Scored,
): Record<string, number> {
  if (!rewarded.some(isOfPool)) return {};
  const tallies = new Map<string, Tally>();
  for (const [i, { trajectory }] of rewarded.entries()) {
    const { worker = "local" } = trajectory;
    const tally = tallies.get(worker) ?? { rollouts: 0, tokens: 0, sum: 0, max: 0 };
    tallies.set(worker, tally);
    tally.rollouts += 1;
    for (const [row, logprob] of (sequences[i]?.rolloutLogprobs ?? []).entries()) {
      const gap = Math.abs((scores?.logprobs[i]?.[row] ?? Number.NaN) - logprob);
      if (Number.isNaN(gap)) continue;
      tally.tokens += 1;
      tally.sum += gap;
      tally.max = Math.max(tally.max, gap);
    }
  }
  const named = [...tallies].flatMap(([name, tally]) => namedMetrics(name, tally));
  const moved = rewarded.filter(({ trajectory: { moves = 0 } }) => moves > 0).length;
  return { ...Object.fromEntries(named), "workers/moved": moved };
}

function namedMetrics(name: string, { rollouts, tokens, sum, max }: Tally): [string, number][] {
  const gaps: [string, number][] = [
    [`logprob_gap/mean/${name}`, sum / tokens],
    [`logprob_gap/max/${name}`, max],
  ];
  return [[`workers/rollouts/${name}`, rollouts], ...(tokens === 0 ? [] : gaps)];
}
