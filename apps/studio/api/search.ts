/** The index as the studio shows it: hits, why each ranks, counts over its passages. */

/** How an index is searched. */
export type SearchMode = "bm25" | "dense" | "hybrid";

/** `GET /index`. 404 without `--index`. */
export interface IndexDescription {
  readonly folder: string;
  readonly passages: number;
  readonly removed: number;
  readonly bytes: number;
  /** Ways to search that it holds, the usual one first. */
  readonly modes: readonly SearchMode[];
  readonly segments: readonly {
    readonly name: string;
    readonly passages: number;
    readonly vectors: "exact" | "hnsw" | null;
  }[];
}

/** Body of `POST /index/search`. */
export interface IndexSearchRequest {
  readonly query: string;
  /** 1 to 100. @default 10 */
  readonly topK?: number;
  /** @default the index's usual one */
  readonly mode?: SearchMode;
}

/** Answer of `POST /index/search`. */
export interface IndexSearchResult {
  readonly mode: SearchMode;
  readonly milliseconds: number;
  readonly hits: readonly ExplainedHit[];
}

/** A passage, and why it ranks where it does. */
export interface ExplainedHit {
  readonly rank: number;
  readonly id: string;
  readonly title: string;
  readonly text: string;
  /** By the mode: BM25's, a cosine, or the fused ranks'. */
  readonly score: number;
  /** By words: the parts of the score, term by term, the greatest first; they add up to it. Absent with `dense`. */
  readonly words?: {
    /** Its place among the 50 best or `topK`; null when it is not among them. */
    readonly rank: number | null;
    readonly score: number;
    readonly terms: readonly { readonly term: string; readonly score: number }[];
  };
  /** By vectors. Absent with `bm25`. */
  readonly vectors?: { readonly rank: number | null; readonly score: number | null };
  /** Of `hybrid`: what each rank adds, 1 / (60 + rank). */
  readonly fusion?: { readonly words: number; readonly vectors: number };
}

/** `GET /index/report`: counts, with the first few examples. */
export interface CorpusSummary {
  readonly numPassages: number;
  readonly numWords: number;
  readonly numLongestWords: number;
  readonly maxWords: number;
  readonly numEmpty: number;
  readonly numOverLong: number;
  readonly numDuplicates: number;
  /** Places of passages, from 0. */
  readonly empty: readonly number[];
  readonly overLong: readonly number[];
  readonly duplicates: readonly { readonly first: number; readonly again: number }[];
}
