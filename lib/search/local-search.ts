/** Search over indexes in this process. */
import type { NativeHits } from "../base/addon.ts";
import { SeekError, throwIfAborted } from "../base/errors.ts";
import type { Passage } from "../corpus/passage.ts";
import type { PassageStore } from "../corpus/passage-store.ts";
import type { Embedder } from "../embed/embedder.ts";
import type { Bm25Index } from "./bm25.ts";
import type { Hit, Search } from "./search.ts";
import type { VectorIndex } from "./vector-index.ts";

/** What both kinds of index answer, for queries that are text. */
type FindIds = (queries: readonly string[], topK: number) => Promise<NativeHits>;

function checkTopK(topK: number): void {
  if (Number.isInteger(topK) && topK >= 1) return;
  throw new SeekError("ERR_RANGE", `topK: expected a whole number of at least 1, got ${topK}`);
}

/** The passages of all queries are read in one go, away from the event loop. */
async function hitsOf(store: PassageStore, found: NativeHits, count: number): Promise<Hit[][]> {
  const passages = await store.getMany(found.ids.filter((id) => id >= 0));
  const hits: Hit[][] = Array.from({ length: found.ids.length / count }, () => []);
  let next = 0;
  for (const [i, id] of found.ids.entries()) {
    if (id < 0) continue;
    hits[Math.floor(i / count)]?.push({ ...(passages[next] as Passage), score: found.scores[i] ?? 0 });
    next += 1;
  }
  return hits;
}

function searchWith(store: PassageStore, find: FindIds): Search {
  return async (queries, { topK, signal }) => {
    checkTopK(topK);
    throwIfAborted(signal, "search");
    const count = Math.min(topK, store.size);
    if (queries.length === 0 || count === 0) return queries.map(() => []);
    const found = await find(queries, count);
    throwIfAborted(signal, "search");
    return hitsOf(store, found, count);
  };
}

function checkSizes(store: PassageStore, index: { readonly size: number }): void {
  if (store.size === index.size) return;
  throw new SeekError(
    "ERR_ARGUMENT",
    `index: expected ${store.size} entries, one per passage, got ${index.size}`,
  );
}

/** What dense search needs; the index's vectors are the embedder's, one per passage, in the store's order. */
export interface LocalSearchParts {
  readonly store: PassageStore;
  readonly index: VectorIndex;
  readonly embedder: Embedder;
}

/**
 * Dense search: embeds the queries, finds the nearest passages.
 *
 * @param parts - passages, vectors and the embedder that made them
 * @returns a search whose scores are cosines or inner products, as the index was built
 * @throws ERR_ARGUMENT when the parts do not fit together; the search: ERR_RANGE, ERR_ABORTED, ERR_STATE
 */
export function localSearch({ store, index, embedder }: LocalSearchParts): Search {
  checkSizes(store, index);
  if (index.dim !== embedder.dim)
    throw new SeekError("ERR_ARGUMENT", `embedder: expected width ${index.dim}, got ${embedder.dim}`);
  return searchWith(store, async (queries, topK) =>
    index.search(await embedder.embedQueries(queries), { topK }),
  );
}

/**
 * Lexical search with BM25. A query without a word of the corpus, or of stop words alone, has no hits.
 *
 * @param parts - passages and their index
 * @returns a search whose scores are BM25's
 * @throws ERR_ARGUMENT when the parts do not fit together; the search: ERR_RANGE, ERR_ABORTED, ERR_STATE
 */
export function bm25Search({
  store,
  index,
}: {
  readonly store: PassageStore;
  readonly index: Bm25Index;
}): Search {
  checkSizes(store, index);
  return searchWith(store, (queries, topK) => index.search(queries, { topK }));
}
