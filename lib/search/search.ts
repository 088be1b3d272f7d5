/** The seam between agents and whatever finds passages for them. */
import { shownValue } from "../base/check-options.ts";
import { codeOf, messageOf, SeekError } from "../base/errors.ts";

/** A passage that was found; a higher score is better, scores of different searches do not compare. */
export interface Hit {
  readonly id: string;
  readonly title: string;
  readonly text: string;
  readonly score: number;
}

/** How to search. */
export interface SearchOptions {
  /** Hits per query, at least 1; there are fewer when fewer passages match. */
  readonly topK: number;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Finds passages: one list of hits per query, best first. A local index, a remote server, a recorded double in a test.
 * It rejects with ERR_ABORTED when the signal fires, with ERR_REMOTE when a server fails.
 */
export type Search = (queries: readonly string[], options: SearchOptions) => Promise<Hit[][]>;

/**
 * Asks a search and checks what comes back: one list per query, each of at most topK hits; more are cut. A search may be
 * anybody's code.
 *
 * @param search - any
 * @param queries - one list of hits is due for each
 * @param options - as the search takes them
 * @returns the lists
 * @throws what the search throws, any error without a code as ERR_REMOTE; ERR_REMOTE naming what was expected and what came
 * @example
 * const broken = async () => undefined;
 * await assert.rejects(askSearch(broken, ["Rome"], { topK: 1 }), {
 *   message: "search: expected 1 list of hits, one per query, got undefined",
 * });
 */
export async function askSearch(
  search: Search,
  queries: readonly string[],
  options: SearchOptions,
): Promise<Hit[][]> {
  const found = await answerOf(search, queries, options);
  const { length } = queries;
  if (!Array.isArray(found) || found.length !== length) {
    const got = Array.isArray(found) ? `${found.length}` : shownValue(found);
    throw malformed(`${length} ${length === 1 ? "list" : "lists"} of hits, one per query`, got);
  }
  for (const [q, hits] of found.entries()) {
    if (!Array.isArray(hits)) throw malformed(`a list of hits for query ${q}`, shownValue(hits));
    const wrong = hits.findIndex((hit) => !isHit(hit));
    if (wrong >= 0) {
      const what = `{id, title, text} of texts and a finite score as hit ${wrong} of query ${q}`;
      throw malformed(what, shownValue(hits[wrong]));
    }
  }
  return found.map((hits: Hit[]) => (hits.length > options.topK ? hits.slice(0, options.topK) : hits));
}

/** Whatever a search throws, at once or later, is of the one error type; what has a code of ours keeps it. */
async function answerOf(
  search: Search,
  queries: readonly string[],
  options: SearchOptions,
): Promise<unknown> {
  try {
    return await search(queries, options);
  } catch (cause) {
    if (codeOf(cause) !== undefined) throw cause;
    const code = options.signal?.aborted ? "ERR_ABORTED" : "ERR_REMOTE";
    throw new SeekError(code, `search: ${messageOf(cause)}`, { cause });
  }
}

function isHit(hit: Partial<Hit> | null | undefined): boolean {
  const { id, title, text, score } = hit ?? {};
  return [id, title, text].every((each) => typeof each === "string") && Number.isFinite(score);
}

function malformed(expected: string, got: string): SeekError {
  return new SeekError("ERR_REMOTE", `search: expected ${expected}, got ${got}`);
}
