/** What a retriever server is given, and its defaults. */
import { countKind, type OptionKinds, optionsOf } from "../../../lib/base/check-options.ts";
import { type BatchOptions, batchKinds } from "../../../lib/search/batching/batcher.ts";
import type { Embedder } from "../../../lib/search/embed/embedder.ts";
import type { Search } from "../../../lib/search/search.ts";
import { type ServeOptions, serveKinds } from "../http/http-server.ts";
import type { ContentsForm } from "./protocols/contents.ts";

/** Bounds on what one request may ask, and on all together. */
export interface RetrieverLimits {
  /** Bytes of a body. @default 4194304 */
  readonly maxBodyBytes: number;
  /** Queries, or texts to embed, of one request. @default 4096 */
  readonly maxQueries: number;
  /** Characters of a query or text. @default 32768 */
  readonly maxQueryChars: number;
  /** Passages per query. @default 1000 */
  readonly maxTopK: number;
  /** Passages of one answer, over all its queries. @default 100000 */
  readonly maxHits: number;
  /** Queries that are being answered at once, over all requests; more are refused with 429. @default 8192 */
  readonly maxWaiting: number;
  /** From the first byte of a request to its answer, milliseconds; later is 504. @default 30000 */
  readonly timeoutMs: number;
}

const limitKinds: OptionKinds<RetrieverLimits> = {
  maxBodyBytes: countKind,
  maxQueries: countKind,
  maxQueryChars: countKind,
  maxTopK: countKind,
  maxHits: countKind,
  maxWaiting: countKind,
  timeoutMs: countKind,
};

/** What {@link RetrieverLimits} are unless given. */
export const defaultLimits: RetrieverLimits = {
  maxBodyBytes: 4 << 20,
  maxQueries: 4096,
  maxQueryChars: 1 << 15,
  maxTopK: 1000,
  maxHits: 100_000,
  maxWaiting: 8192,
  timeoutMs: 30_000,
};

/** An encoder to be served under `/v1/embeddings`, and its name there. */
export interface ServedEmbedder {
  readonly model: string;
  readonly embedder: Embedder;
}

/** A retriever server's options. */
export interface RetrieverOptions extends ServeOptions {
  /** While it is a promise that has not settled, requests are refused with 503. It stays the caller's to close. */
  readonly search: Search | Promise<Search>;
  readonly embedding?: ServedEmbedder | undefined;
  /** 0 takes a free one. @default 8000 */
  readonly port?: number | undefined;
  /** Passages per query when a request to `/retrieve` or `/queries` names no number. @default 3 */
  readonly topK?: number;
  /** How `contents` are written. @default "quoted", but "spaced" under `/queries`, as the originals do */
  readonly contents?: ContentsForm | undefined;
  /**
   * A blank query among those of a batch: `refuse` the request, or `answer` it with no passages, for clients that send
   * whatever a model wrote, as those of Search-R1 and ReSearch do. @default "refuse"
   */
  readonly blankQueries?: "refuse" | "answer";
  /**
   * A query of a batch whose search fails while others are found: `refuse` the request with a 5xx that names its place,
   * or `answer` it with no passages, for clients that end a training over one query. `x-failed-queries` then lists the
   * places, and `onFault` gets the first. When all fail, the request is refused. @default "refuse"
   */
  readonly failedQueries?: "refuse" | "answer";
  readonly limits?: Partial<RetrieverLimits>;
  /** How queries of all clients are gathered; `aloneAfterMs` is 0 unless given. */
  readonly batch?: BatchOptions;
}

/** The type of each option. */
export const retrieverKinds: OptionKinds<RetrieverOptions> = {
  search: "any",
  embedding: "object",
  ...serveKinds,
  topK: "number",
  contents: "string",
  blankQueries: ["refuse", "answer"],
  failedQueries: ["refuse", "answer"],
  limits: optionsOf<Partial<RetrieverLimits>>(limitKinds),
  batch: optionsOf<BatchOptions>(batchKinds),
};
