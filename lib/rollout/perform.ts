/** How the calls of one action are executed: by one search for all of them, unless an agent has tools. */
import type { Document } from "../text/observation.ts";
import type { SearchDocuments } from "./rollout.ts";
import { type DeadlineOptions, searchBefore } from "./search-before.ts";

/** What the calls of one action brought. */
export interface CallOutcome {
  /**
   * One list for each call, best first; what the policy shall read of a call that failed stands there as a document.
   * Absent when nothing came of any call: the policy then reads the format's `failure`.
   */
  readonly documents?: readonly (readonly Document[])[];
  /** Why calls failed, one reason for each; they are counted. */
  readonly failures: readonly string[];
}

/** Executes the calls of one action in parallel, each before the deadline. Never rejects (law 7). */
export type PerformCalls = (calls: readonly string[], options: DeadlineOptions) => Promise<CallOutcome>;

/**
 * Calls that are queries: one search for all of them.
 *
 * @param search - may hang, throw or answer too little
 * @returns a function that gives documents, or one failure for all calls
 */
export function performSearch(search: SearchDocuments): PerformCalls {
  return async (queries, options) => {
    const outcome = await searchBefore(search, queries, options);
    return "failure" in outcome ? { failures: [outcome.failure] } : { ...outcome, failures: [] };
  };
}
