/** A search with a deadline: a tool that hangs or fails never holds a rollout (law 7). */
import { beforeDeadline, type DeadlineLimits } from "../../base/deadline.ts";
import type { Document } from "../../text/observation.ts";
import type { SearchDocuments } from "../seams.ts";

/** What a bounded search is given. */
export interface DeadlineOptions extends DeadlineLimits {
  readonly topK: number;
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
  { topK, ...limits }: DeadlineOptions,
): Promise<SearchOutcome> {
  const outcome = await beforeDeadline((signal) => search(queries, { topK, signal }), limits);
  switch (outcome.kind) {
    case "done": {
      const documents = outcome.result;
      if (documents.length === queries.length) return { documents };
      return { failure: `expected ${queries.length} lists of documents, got ${documents.length}` };
    }
    case "failed":
      return { failure: outcome.error instanceof Error ? outcome.error.message : String(outcome.error) };
    case "timed out":
      return { failure: `no answer within ${limits.timeoutMs} ms` };
    case "aborted":
      return { failure: "aborted" };
  }
}
