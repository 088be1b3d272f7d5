/** How much of the truth an approximate index finds. */
import { SeekError } from "../base/errors.ts";
import type { VectorIndex, VectorSearchOptions } from "./vector-index.ts";

/** What to measure with. */
interface RecallOptions extends Omit<VectorSearchOptions, "topK" | "exact" | "allowed"> {
  /** f32 [Q, dim]; stored vectors at even distances, each looking for the others, unless given. */
  readonly queries?: Float32Array;
  /** How many stored vectors to ask for. @default 200 */
  readonly numQueries?: number;
  /** @default 10 */
  readonly topK?: number;
  /** Searched exactly for the truth: the same vectors in a finer form. @default its `rescore`, or itself */
  readonly truth?: VectorIndex;
}

async function storedQueries(source: VectorIndex, count: number): Promise<[Float32Array, Int32Array]> {
  const ids = Int32Array.from({ length: count }, (_, i) => Math.floor((i * source.size) / count));
  const queries = new Float32Array(count * source.dim);
  for (const [i, id] of ids.entries()) queries.set(await source.read(id, 1), i * source.dim);
  return [queries, ids];
}

/** The first `topK` ids of each row that are not the row's own. */
function withoutSelf(
  ids: Int32Array,
  width: number,
  topK: number,
  selves: Int32Array | undefined,
): number[][] {
  return Array.from({ length: ids.length / width }, (_, q) =>
    Array.from(ids.subarray(q * width, (q + 1) * width))
      .filter((id) => id >= 0 && id !== selves?.[q])
      .slice(0, topK),
  );
}

/**
 * The share of the true nearest vectors that a search finds.
 *
 * @param index the index to judge
 * @param options queries, `topK`, the truth, and the search's own settings
 * @returns 0 to 1; 1 for an index that holds nothing to find
 * @throws ERR_ARGUMENT when the truth is of another size; as {@link VectorIndex.search}
 */
export async function measureRecall(index: VectorIndex, options: RecallOptions = {}): Promise<number> {
  const { queries: given, numQueries = 200, topK = 10, truth = index.rescore ?? index, ...search } = options;
  if (truth.size !== index.size)
    throw new SeekError("ERR_ARGUMENT", `truth: expected ${index.size} vectors, got ${truth.size}`);
  if (index.size === 0) return 1;
  const [queries, selves] = given ? [given] : await storedQueries(truth, Math.min(numQueries, index.size));
  const width = Math.min(index.size, selves ? topK + 1 : topK);
  const expected = await truth.search(queries, { topK: width, exact: true, overFetch: 1 });
  const actual = await index.search(queries, { ...search, topK: width });
  const truths = withoutSelf(expected.ids, width, topK, selves);
  const found = withoutSelf(actual.ids, width, topK, selves);
  let numTrue = 0;
  let numFound = 0;
  for (const [q, ids] of truths.entries()) {
    const seen = new Set(found[q]);
    numTrue += ids.length;
    numFound += ids.filter((id) => seen.has(id)).length;
  }
  return numTrue === 0 ? 1 : numFound / numTrue;
}
