/** A search whose hits are put in the order of a cross-encoder. */
import { checkArgument, checkOptions } from "../base/check-options.ts";
import { SeekError } from "../base/errors.ts";
import { askSearch, type Hit, type Search } from "./search.ts";

/** What scores passages against a query; a `Reranker` is one. */
export interface PairScorer {
  /** f32 [N], higher is better. */
  scorePairs(
    pairs: readonly (readonly [string, string])[],
    options: { readonly signal?: AbortSignal | undefined },
  ): Promise<Float32Array>;
}

/** Who scores how many. */
export interface RerankingOptions {
  readonly reranker: PairScorer;
  /** Candidates per query, at least as many as are asked for. */
  readonly topK: number;
}

function ordered(hits: readonly Hit[], scores: Float32Array, topK: number): Hit[] {
  return hits
    .map((hit, i) => ({ ...hit, score: scores[i] ?? 0 }))
    .sort((a, b) => b.score - a.score)
    .slice(0, topK);
}

/**
 * Asks `search` for more passages than are wanted and keeps those that the re-ranker scores best. A passage is read as
 * its title, a line break and its text; equal scores keep the order of `search`.
 *
 * @param search - finds the candidates
 * @param options - what scores them, and how many
 * @returns a search whose scores are the re-ranker's
 * @throws ERR_RANGE for `topK`; the search: what `search` and the re-ranker throw
 * @example
 * const search = withReranking(await openIndex("index"), {
 *   reranker: await Reranker.open("models/bge-reranker-base"),
 *   topK: 50,
 * });
 */
export function withReranking(search: Search, options: RerankingOptions): Search {
  checkArgument("withReranking: search", search, "function");
  checkOptions("withReranking", options, { reranker: "object", topK: "number" }, ["reranker", "topK"]);
  const { reranker, topK: candidates } = options;
  if (!Number.isInteger(candidates) || candidates < 1)
    throw new SeekError("ERR_RANGE", `topK: expected a whole number of at least 1, got ${candidates}`);
  return async (queries, { topK, signal }) => {
    const found = await askSearch(search, queries, { topK: Math.max(candidates, topK), signal });
    const pairs = found.flatMap((hits, q) =>
      hits.map(({ title, text }) => [queries[q] ?? "", `${title}\n${text}`] as const),
    );
    const scores = await reranker.scorePairs(pairs, { signal });
    let at = 0;
    return found.map((hits) => {
      at += hits.length;
      return ordered(hits, scores.subarray(at - hits.length, at), topK);
    });
  };
}
