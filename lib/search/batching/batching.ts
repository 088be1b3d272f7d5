/** Micro-batching: the queries of all live trajectories that arrive within a short time become one search. */
import { checkArgument, checkOptions } from "../../base/check-options.ts";
import { askSearch, type Hit, type Search } from "../search.ts";
import { Batcher, type BatchOptions, batchKinds } from "./batcher.ts";

/** Roughly what hits hold in memory. */
function bytesOf(hits: readonly Hit[]): number {
  return hits.reduce(
    (sum, { id, title, text }) => sum + 2 * (id.length + title.length + text.length) + 64,
    0,
  );
}

/**
 * A search that gathers the queries of all its callers: equal queries are asked once, results are kept, and a caller
 * that aborts leaves the others' queries alone. The inner search is aborted only when nobody waits for it any more. A
 * batch that fails, or is slow, is asked again query by query: one bad query does not fail its neighbours.
 *
 * @param search the inner search; one call per batch and topK
 * @param options window, size, cache, deadline
 * @returns a search that rejects with the inner search's SeekError, ERR_REMOTE for any other error or when the time is
 * up, or ERR_ABORTED
 * @example
 * const search = withBatching(await openIndex("index"), { timeoutMs: 10_000 });
 * await Promise.all(questions.map(({ question }) => search([question], { topK: 3 }))); // one search
 */
export function withBatching(search: Search, options: BatchOptions = {}): Search {
  checkArgument("withBatching: search", search, "function");
  checkOptions("withBatching", options, batchKinds);
  const batcher = new Batcher<readonly Hit[]>(
    (queries, topK, signal) => askSearch(search, queries, { topK, signal }),
    options,
    bytesOf,
  );
  return (queries, { topK, signal }) =>
    Promise.all(queries.map(async (query) => [...(await batcher.find(query, topK, signal))]));
}
