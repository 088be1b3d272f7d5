/** How far the building of an index has come, how fast it goes and how long it will take. */

/** The steps of building, in their order. */
export type IndexStage = "passages" | "embedder" | "bm25" | "vectors" | "graph";

/** A step under way. */
export interface IndexProgress {
  readonly stage: IndexStage;
  /** Passages. */
  readonly done: number;
  /** Undefined while the corpus is being read, whose end nobody knows. */
  readonly total: number | undefined;
  /** Passages a second, from the beginning of the step. */
  readonly perSecond: number;
  /** Undefined like `total`. */
  readonly remainingSeconds: number | undefined;
}

/** Who wants to know. */
export type OnIndexProgress = (progress: IndexProgress) => void;

/** Begins a step; what it returns is called with the number of passages that are done. */
export function trackStage(
  onProgress: OnIndexProgress | undefined,
  stage: IndexStage,
  { total, from = 0 }: { readonly total?: number; readonly from?: number } = {},
): (done: number) => void {
  const started = performance.now();
  return (done) => {
    const seconds = Math.max(1e-3, (performance.now() - started) / 1000);
    const perSecond = (done - from) / seconds;
    const remainingSeconds = total === undefined ? undefined : (total - done) / Math.max(1e-9, perSecond);
    onProgress?.({ stage, done, total, perSecond, remainingSeconds });
  };
}
