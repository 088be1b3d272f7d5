/** Reciprocal rank fusion: one ranking out of several whose scores do not compare. */

/** An item with its fused score. */
interface Fused<Item> {
  readonly item: Item;
  readonly score: number;
}

/** Cormack, Clarke and Büttcher (SIGIR 2009) found 60 good across collections. */
const rankOffset = 60;

/**
 * Adds up `weight / (60 + rank)` over the rankings that hold an item, ranks counted from 1.
 *
 * @param rankings - each best first, without repeats
 * @param keyOf - two items with the same key are one
 * @param options - `weights` of the rankings, `@default` 1 each
 * @returns all items, best first; equal scores in the order of the first ranking, then of the next
 * @example
 * const fused = fuseRankings([["a", "b"], ["b", "c"]], (item) => item); // "b" stands in both, and first
 */
export function fuseRankings<Item>(
  rankings: readonly (readonly Item[])[],
  keyOf: (item: Item) => string,
  { weights }: { readonly weights?: readonly number[] | undefined } = {},
): Fused<Item>[] {
  const scores = new Map<string, { readonly item: Item; score: number }>();
  for (const [r, ranking] of rankings.entries()) {
    const weight = weights?.[r] ?? 1;
    for (const [i, item] of ranking.entries()) {
      const key = keyOf(item);
      const fused = scores.get(key) ?? { item, score: 0 };
      fused.score += weight / (rankOffset + i + 1);
      scores.set(key, fused);
    }
  }
  return [...scores.values()].sort((a, b) => b.score - a.score);
}
