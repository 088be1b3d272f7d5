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
  /** Undefined where nobody knows: for passages that come from no file. */
  readonly remainingSeconds: number | undefined;
}

/** Who wants to know. */
export type OnIndexProgress = (progress: IndexProgress) => void;

/** Notes how far a step has come; `share` of the whole, 0 to 1, where the number of passages is not known. */
type Track = (done: number, share?: number) => void;

/** Begins a step. */
export function trackStage(
  onProgress: OnIndexProgress | undefined,
  stage: IndexStage,
  { total, from = 0 }: { readonly total?: number; readonly from?: number } = {},
): Track {
  const started = performance.now();
  return (done, share = 0) => {
    const seconds = Math.max(1e-3, (performance.now() - started) / 1000);
    const perSecond = (done - from) / seconds;
    const byShare = share > 0 ? (seconds * (1 - share)) / share : undefined;
    const remainingSeconds = total === undefined ? byShare : (total - done) / Math.max(1e-9, perSecond);
    onProgress?.({ stage, done, total, perSecond, remainingSeconds });
  };
}
