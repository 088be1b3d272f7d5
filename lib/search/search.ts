/** The seam between agents and whatever finds passages for them. */

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
  readonly signal?: AbortSignal;
}

/**
 * Finds passages: one list of hits per query, best first. A local index, a remote server, a recorded double in a test.
 * It rejects with ERR_ABORTED when the signal fires, with ERR_REMOTE when a server fails.
 */
export type Search = (queries: readonly string[], options: SearchOptions) => Promise<Hit[][]>;
