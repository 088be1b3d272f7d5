/** The seam between text and vectors: whatever turns passages and queries into vectors of one width. */

/** How to embed. */
export interface EmbedOptions {
  readonly signal?: AbortSignal;
}

/**
 * Turns texts into vectors of one width. Passages and queries are distinguished because many encoders were trained with
 * a different prefix for each.
 */
export interface Embedder {
  /** Width of a vector. */
  readonly dim: number;
  /** f32 [N, dim], row-major, one row per text. Rejects with ERR_ABORTED when the signal fires. */
  embedPassages(texts: readonly string[], options?: EmbedOptions): Promise<Float32Array>;
  /** f32 [Q, dim], row-major, one row per query. Rejects with ERR_ABORTED when the signal fires. */
  embedQueries(texts: readonly string[], options?: EmbedOptions): Promise<Float32Array>;
  /**
   * Vectors of texts that are ids already, i32 [T] each, prefix and marks included: f32 [N, dim], row-major. Rejects with
   * ERR_RANGE for an id that is none, for no ids and for more than it reads. @default it reads texts only
   */
  embedIds?(texts: readonly Int32Array[], options?: EmbedOptions): Promise<Float32Array>;
  /** Tokens it reads of a passage or a query, marks included. @default it has no tokens */
  countTokens?(text: string, role: "passage" | "query"): number;
}
