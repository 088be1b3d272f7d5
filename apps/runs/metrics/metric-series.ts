/** Curves out of the metrics of a run, cut down to a number of points without losing their extremes. */
import type { MetricsLog } from "./metrics-log.ts";

/** Which part of a curve. */
interface SeriesOptions {
  /** First and last step. @default all */
  readonly from?: number | undefined;
  readonly to?: number | undefined;
  /** Points at most; longer curves are cut into so many buckets of neighbouring steps. @default 1000 */
  readonly points?: number | undefined;
}

/** A curve: arrays of equal length, steps increasing; null is not finite. */
export interface MetricSeries {
  readonly name: string;
  /** The last step of each bucket, or the step itself. */
  readonly steps: readonly number[];
  /** The mean of each bucket, or the number itself. */
  readonly values: readonly (number | null)[];
  /** Least and greatest of each bucket; absent where every step is a point. */
  readonly min?: readonly (number | null)[];
  readonly max?: readonly (number | null)[];
}

interface Points {
  readonly steps: number[];
  readonly values: (number | null)[];
}

/**
 * One curve of a run.
 *
 * @param metrics - read as far as the curve shall go
 * @param name - of the number
 * @param options - steps, and how many points
 */
export function seriesOf(metrics: MetricsLog, name: string, options: SeriesOptions = {}): MetricSeries {
  const { points = 1000 } = options;
  const all = pointsOf(metrics, name, options);
  return all.steps.length <= points ? { name, ...all } : { name, ...bucketed(all, points) };
}

function pointsOf(
  metrics: MetricsLog,
  name: string,
  { from = Number.NEGATIVE_INFINITY, to = Number.POSITIVE_INFINITY }: SeriesOptions,
): Points {
  const found: Points = { steps: [], values: [] };
  for (let row = 0; row < metrics.numRows; row += 1) {
    const value = metrics.value(name, row);
    const step = metrics.value("step", row) ?? row + 1;
    if (value === undefined || step < from || step > to) continue;
    found.steps.push(step);
    found.values.push(value);
  }
  return found;
}

function bucketed({ steps, values }: Points, count: number): Omit<MetricSeries, "name"> {
  const buckets = Array.from({ length: count }, (_, i) => {
    const start = Math.floor((i * steps.length) / count);
    const end = Math.floor(((i + 1) * steps.length) / count);
    return { step: steps[end - 1] ?? 0, ...summaryOf(values.slice(start, end)) };
  });
  return {
    steps: buckets.map(({ step }) => step),
    values: buckets.map(({ mean }) => mean),
    min: buckets.map(({ min }) => min),
    max: buckets.map(({ max }) => max),
  };
}

/** A bucket in which one number is not finite is not finite: it must not vanish among the others. */
function summaryOf(values: readonly (number | null)[]): Record<"mean" | "min" | "max", number | null> {
  const finite = values.filter((value) => value !== null);
  if (finite.length < values.length || finite.length === 0) return { mean: null, min: null, max: null };
  const sum = finite.reduce((total, value) => total + value, 0);
  return { mean: sum / finite.length, min: Math.min(...finite), max: Math.max(...finite) };
}
