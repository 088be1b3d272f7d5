/** A search with a deadline: a tool that hangs or fails never holds a rollout (law 7). */
import type { Document } from "../text/observation.ts";
import type { SearchDocuments } from "./rollout.ts";

/** What a bounded search is given. */
export interface DeadlineOptions {
  readonly topK: number;
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
}

/** Documents per query, or the reason for having none. */
export type SearchOutcome =
  | { readonly documents: readonly (readonly Document[])[] }
  | { readonly failure: string };

/**
 * Searches, and gives up at the deadline even when the search ignores its signal. It never rejects.
 *
 * @param search - may hang, throw or answer too little
 * @param queries - of one round
 * @param options - how many documents, how long, until when
 * @returns the documents per query, or why there are none
 */
export async function searchBefore(
  search: SearchDocuments,
  queries: readonly string[],
  { topK, timeoutMs, signal }: DeadlineOptions,
): Promise<SearchOutcome> {
  const stop = new AbortController();
  const giveUp = (): void => stop.abort();
  const timer = setTimeout(giveUp, timeoutMs);
  signal?.addEventListener("abort", giveUp, { once: true });
  try {
    const late = new Promise<SearchOutcome>((resolve) => {
      const failure = `no answer within ${timeoutMs} ms`;
      stop.signal.addEventListener("abort", () => resolve({ failure }), { once: true });
    });
    return await Promise.race([attempt(search, queries, topK, stop.signal), late]);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", giveUp);
  }
}

async function attempt(
  search: SearchDocuments,
  queries: readonly string[],
  topK: number,
  signal: AbortSignal,
): Promise<SearchOutcome> {
  try {
    const documents = await search(queries, { topK, signal });
    if (documents.length === queries.length) return { documents };
    return { failure: `expected ${queries.length} lists of documents, got ${documents.length}` };
  } catch (error) {
    return { failure: error instanceof Error ? error.message : String(error) };
  }
}
