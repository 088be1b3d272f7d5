/** Dynamic sampling: other questions in place of those whose rollouts all earned the same. */
import { seededOrder } from "./batch/order.ts";

/** Rollouts of one question; one without a reward says nothing. */
type Group = readonly { readonly reward?: number | undefined }[];

/** How often other questions are asked, and which. */
interface DynamicSamplingOptions {
  /** How often; 0 keeps every group. */
  readonly rounds: number;
  /** Questions in all. */
  readonly count: number;
  readonly seed: number;
  readonly step: number;
}

/**
 * Whether the rollouts of a question teach anything when they are compared with one another.
 *
 * @example
 * assert.deepEqual([differs([{ reward: 1 }, { reward: 0 }]), differs([{ reward: 1 }, { reward: 1 }])], [true, false]);
 */
export function differs(group: Group): boolean {
  const rewards = group.flatMap(({ reward }) => (reward === undefined ? [] : [reward]));
  return rewards.some((reward) => reward !== rewards[0]);
}

/**
 * Asks questions until as many groups differ as questions were asked, or no round is left. Which questions are asked
 * instead follows from seed and step alone, so a resumed run asks the same.
 *
 * @param items - numbers of the questions to begin with
 * @param sample - rollouts of questions; groups are counted from `firstGroup`
 * @param options - how often, out of how many
 * @returns all groups, and those to learn from: all that differ, or all when none does
 */
export async function sampleDynamically<Rollouts extends Group>(
  items: readonly number[],
  sample: (items: readonly number[], firstGroup: number) => Promise<Rollouts[]>,
  { rounds, count, seed, step }: DynamicSamplingOptions,
): Promise<{ readonly all: readonly Rollouts[]; readonly kept: readonly Rollouts[] }> {
  const all = await sample(items, 0);
  if (rounds === 0) return { all, kept: all };
  const kept = all.filter(differs);
  if (kept.length === items.length) return { all, kept };
  const asked = new Set(items);
  const others = seededOrder(count, seed, `dynamic sampling ${step}`).filter((item) => !asked.has(item));
  for (let round = 0; round < rounds; round += 1) {
    const next = others.splice(0, items.length - kept.length);
    if (next.length === 0) break;
    const groups = await sample(next, all.length);
    all.push(...groups);
    kept.push(...groups.filter(differs));
  }
  return { all, kept: kept.length === 0 ? all : kept };
}
