/** Rewards that depend on the other rollouts of the same question. */
import { checkOptions } from "../base/check-options.ts";
import type { Question } from "../data/question.ts";
import type { Trajectory } from "../rollout/trajectory.ts";

/** A trajectory and its own reward. */
export interface GroupMember {
  readonly trajectory: Trajectory;
  readonly reward: number;
}

/** What to add to the reward of each rollout of one question, in order. */
export type GroupReward = (
  group: readonly GroupMember[],
  question: Question,
  options?: { readonly signal?: AbortSignal | undefined },
) => readonly number[] | Promise<readonly number[]>;

/** Options of the bonus for few searches. */
export interface FewSearchesOptions {
  /** Which rollouts compete. @default those with a reward above 0 */
  readonly isRight?: (member: GroupMember, question: Question) => boolean;
  /** @default 2 */
  readonly most?: number;
}

/**
 * The group reward of R1-Searcher++ (arXiv 2505.17005): among the right rollouts of a question, those with the fewest
 * searches get a bonus that grows with the spread of the number of searches among the right ones: twice their variance,
 * at most `most`. No code was published, so the function's exact form is ours.
 *
 * @param options - who competes, and the largest bonus
 * @returns what to add, 0 for most
 * @example
 * const group = [1, 3].map((rounds) => ({ trajectory: { ...trajectory, rounds }, reward: 1 }));
 * assert.deepEqual(fewSearchesBonus()(group, question), [2, 0]);
 */
export function fewSearchesBonus(
  options: FewSearchesOptions = {},
): (group: readonly GroupMember[], question: Question) => readonly number[] {
  checkOptions("fewSearchesBonus", options, { isRight: "function", most: "number" });
  const { isRight = ({ reward }) => reward > 0, most = 2 } = options;
  return (group, question) => {
    const right = group.filter((member) => isRight(member, question));
    const searches = right.map(({ trajectory }) => trajectory.rounds);
    const fewest = Math.min(...searches);
    const bonus = Math.min(most, 2 * variance(searches));
    return group.map((member) => {
      return right.includes(member) && member.trajectory.rounds === fewest ? bonus : 0;
    });
  };
}

function variance(values: readonly number[]): number {
  if (values.length === 0) return 0;
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  return values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length;
}
