/** Several searches as one: their rankings fused by reciprocal rank. */
import { checkArgument, checkOptions } from "../base/check-options.ts";
import { SeekError, throwIfAborted } from "../base/errors.ts";
import { fuseRankings } from "./rank-fusion.ts";
import { askSearch, type Hit, type Search } from "./search.ts";

/** How rankings are fused. */
export interface HybridOptions {
  /** How much each search counts, in their order, above 0. @default 1 each */
  readonly weights?: readonly number[];
  /** Hits asked of each search, at least; a passage low in all rankings may come first in none. @default 50 */
  readonly depth?: number;
}

function checkValues(numSearches: number, { weights, depth = 1 }: HybridOptions): void {
  if (numSearches === 0) throw new SeekError("ERR_ARGUMENT", "searches: expected at least one, got none");
  if (weights !== undefined && weights.length !== numSearches)
    throw new SeekError(
      "ERR_SHAPE",
      `weights: expected ${numSearches}, one per search, got ${weights.length}`,
    );
  const wrong = weights?.find((weight) => !(weight > 0 && Number.isFinite(weight)));
  if (wrong !== undefined)
    throw new SeekError("ERR_RANGE", `weights: expected numbers above 0, got ${wrong}`);
  if (!Number.isInteger(depth) || depth < 1)
    throw new SeekError("ERR_RANGE", `depth: expected a whole number of at least 1, got ${depth}`);
}

/**
 * A search that asks several and fuses what they find: a passage scores the sum of `weight / (60 + rank)` over the
 * searches that found it, ranks counted from 1 (reciprocal rank fusion, Cormack et al. 2009). Equal scores come in the
 * order of the first search, then of the next. Passages are the same when their ids are.
 *
 * @param searches indexes, servers, databases: whatever numbers its passages by the same ids
 * @param options weights, depth
 * @returns a search that rejects as soon as one of them does, with its error
 * @throws ERR_ARGUMENT, ERR_SHAPE, ERR_RANGE
 * @example
 * const searches = [await openIndex("index", { mode: "bm25" }), await openIndex("index", { mode: "dense" })];
 * const search = hybridSearch(searches, { weights: [1, 2] });
 * const [hits] = await search(["who told the story of the prodigal son"], { topK: 3 });
 */
export function hybridSearch(searches: readonly Search[], options: HybridOptions = {}): Search {
  checkArgument("hybridSearch: searches", searches, "list");
  checkOptions("hybridSearch", options, { weights: "list", depth: "number" });
  checkValues(searches.length, options);
  const { weights, depth = 50 } = options;
  return async (queries, { topK, signal }) => {
    throwIfAborted(signal, "search");
    const asked = { topK: Math.max(topK, depth), signal };
    const found = await Promise.all(searches.map((search) => askSearch(search, queries, asked)));
    return queries.map((_, query): Hit[] =>
      fuseRankings(
        found.map((each) => each[query] ?? []),
        ({ id }) => id,
        { weights },
      )
        .slice(0, topK)
        .map(({ item, score }) => ({ ...item, score })),
    );
  };
}
