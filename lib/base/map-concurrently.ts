/** Runs an async function over a list, a bounded number at a time. */

/**
 * Maps in any order of completion, with results in the order of the items. The first failure rejects, after the
 * calls under way have settled; no further one starts.
 *
 * @param items - the arguments
 * @param limit - calls under way at once, at least 1
 * @param call - the function
 * @returns one result per item
 */
export async function mapConcurrently<Item, Result>(
  items: readonly Item[],
  limit: number,
  call: (item: Item, index: number) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = new Array(items.length);
  let next = 0;
  let failed = false;
  const work = async (): Promise<void> => {
    while (next < items.length && !failed) {
      const index = next++;
      try {
        results[index] = await call(items[index] as Item, index);
      } catch (error) {
        failed = true;
        throw error;
      }
    }
  };
  const workers = Array.from({ length: Math.max(1, Math.min(limit, items.length)) }, work);
  const settled = await Promise.allSettled(workers);
  const failure = settled.find((result) => result.status === "rejected");
  if (failure) throw failure.reason;
  return results;
}
