/** Parts that were measured on the machine at hand, in place of computed ones. */
import type { Parts } from "./parts.ts";

/** How long some work took, by its size. */
export interface MeasuredPoint {
  readonly size: number;
  readonly seconds: number;
}

/** What was measured of one process, on texts as long as the step's; sizes of points increase. */
interface MeasuredParts {
  /** A token of each of so many sequences. */
  readonly decode: readonly MeasuredPoint[];
  /** Prompts and observations of so many tokens, by an engine. */
  readonly read: readonly MeasuredPoint[];
  /** A micro-batch of so many tokens, forward and backward. */
  readonly train: readonly MeasuredPoint[];
  /** Of a text that is scored. */
  readonly forwardSecondsPerToken: number;
  readonly optimiserSecondsPerWeight: number;
  readonly stepSeconds: number;
}

/**
 * Measured parts as the simulation takes them.
 *
 * @param measured - of one process
 * @param slowdown - how many times longer everything takes: processes that share cores have a part of them each
 * @returns parts; between two sizes that were measured they take what a line between them says, beyond the last what the
 *   line through the last two does
 */
export function measuredParts(measured: MeasuredParts, slowdown = 1): Parts {
  const { decode, read, train, forwardSecondsPerToken, optimiserSecondsPerWeight, stepSeconds } = measured;
  return {
    decodeSeconds: ({ sequences }) => slowdown * onLine(decode, sequences),
    readSeconds: ({ tokens }) => slowdown * onLine(read, tokens),
    forwardSeconds: ({ tokens }) => slowdown * forwardSecondsPerToken * tokens,
    trainSeconds: ({ tokens }) => slowdown * onLine(train, tokens),
    optimiserSeconds: (weights) => slowdown * optimiserSecondsPerWeight * weights,
    microBatchSeconds: 0,
    stepSeconds: slowdown * stepSeconds,
  };
}

function onLine(points: readonly MeasuredPoint[], size: number): number {
  const [only] = points;
  if (points.length < 2 || only === undefined) return only?.seconds ?? 0;
  const above = points.findIndex((point) => point.size >= size);
  const right = above === -1 ? points.length - 1 : Math.max(1, above);
  const [low, high] = [points[right - 1]!, points[right]!];
  const slope = (high.seconds - low.seconds) / (high.size - low.size);
  return low.seconds + slope * (size - low.size);
}
