/** A step's rollouts as metrics and as rows of the run log. */
import { loggedMemory, memoryFigures } from "../evaluate/memory-figures.ts";
import { exactMatch } from "../reward/metrics/metrics.ts";
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
