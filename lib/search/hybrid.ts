/** Several searches as one: their rankings are fused, so that scores need not compare. */
import type { Hit, Search } from "./search.ts";

/** How to fuse. */
export interface HybridOptions {
  /** How little the very first ranks stand out, at least 1. @default 60 */
  readonly smoothing?: number;
  /** Hits asked of each search, as a multiple of topK. @default 3 */
  readonly depth?: number;
}

function fuse(rankings: readonly (readonly Hit[])[], smoothing: number): Hit[] {
  const fused = new Map<string, Hit>();
  for (const ranking of rankings) {
    for (const [rank, hit] of ranking.entries()) {
      const score = (fused.get(hit.id)?.score ?? 0) + 1 / (smoothing + rank + 1);
      fused.set(hit.id, { ...hit, score });
    }
  }
  return [...fused.values()].sort((a, b) => b.score - a.score);
}

/**
 * Reciprocal rank fusion (Cormack, Clarke and Büttcher, SIGIR 2009): a passage scores the sum of
 * 1 / (smoothing + rank) over the searches that found it.
 *
 * @param searches at least one, over the same passages
 * @throws whatever one of the searches throws
 */
export function hybrid(
  searches: readonly Search[],
  { smoothing = 60, depth = 3 }: HybridOptions = {},
): Search {
  return async (queries, { topK, ...options }) => {
    const found = await Promise.all(
      searches.map((search) => search(queries, { ...options, topK: topK * depth })),
    );
    return queries.map((_, q) =>
      fuse(
        found.map((hits) => hits[q] ?? []),
        smoothing,
      ).slice(0, topK),
    );
  };
}
