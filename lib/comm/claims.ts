/** Which rank does what of a list: a balanced share each, and what slow ranks have not begun goes to idle ones. */
import type { ProcessGroup } from "./process-group.ts";

/**
 * Shares out items by their sizes: the largest first, each to the rank that has the least.
 *
 * @param sizes - of the items, in any unit
 * @param numRanks - how many share them
 * @returns the items of each rank, the largest first
 * @example
 * assert.deepEqual(balanced([1, 5, 4, 2], 2), [[1, 0], [2, 3]]);
 */
export function balanced(sizes: readonly number[], numRanks: number): number[][] {
  const shares = Array.from({ length: numRanks }, () => ({ items: [] as number[], size: 0 }));
  const order = sizes.map((_, i) => i).sort((a, b) => sizes[b]! - sizes[a]! || a - b);
  for (const item of order) {
    const least = shares.reduce((best, share) => (share.size < best.size ? share : best));
    least.items.push(item);
    least.size += sizes[item]!;
  }
  return shares.map(({ items }) => items);
}

/**
 * Hands out the items of a list that all ranks run together, each to one of them. A rank gets its balanced share first and
 * then what others have not begun; who runs an item depends on time, so its result must not depend on who ran it.
 *
 * @param processGroup - the ranks, those of which that share the list call this with the same one
 * @param name - of the list, for this group alone
 * @param list - sizes of the items, in any unit, and the numbers of the ranks that share them
 * @returns the next item of this rank's; undefined when none is left
 */
export function claims(
  processGroup: ProcessGroup,
  name: string,
  { sizes, askers }: { readonly sizes: readonly number[]; readonly askers: readonly number[] },
): () => Promise<number | undefined> {
  const { length: size } = askers;
  const rank = askers.indexOf(processGroup.rank);
  const shares = balanced(sizes, size);
  // The rank whose share is taken from now; the next one once it is used up.
  let offset = 0;
  return async () => {
    for (; offset < size; offset += 1) {
      const owner = (rank + offset) % size;
      const place = await processGroup.count(`${name}, share ${owner}`);
      const item = shares[owner]![place];
      if (item !== undefined) return item;
    }
    return undefined;
  };
}
