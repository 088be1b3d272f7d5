/** The bootstrap: how far a mean over questions may be off, and whether two runs differ by more than chance. */
import { Dice } from "../../base/random.ts";

/** One value per question; null where the question has none. */
export type Column = readonly (number | null)[];

/** Lower and upper end. */
export type Interval = readonly [low: number, high: number];

/** How to resample. */
export interface BootstrapOptions {
  /** How many times the questions are drawn anew. @default 1000 */
  readonly resamples?: number;
  /** The share of resampled means inside of the interval. @default 0.95 */
  readonly confidence?: number;
  /** @default 0 */
  readonly seed?: number;
}

/**
 * The mean of a column.
 *
 * @returns null when no question has a value
 */
export function meanOf(column: Column): number | null {
  const values = column.filter((value) => value !== null);
  return values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0) / values.length;
}

/**
 * Draws as many questions as there are, with repetition, again and again; all columns share the draws.
 *
 * @param columns - of one length
 * @returns the means of each column, ascending; a draw in which no question has a value gives none
 */
export function resampledMeans(
  columns: readonly Column[],
  { resamples = 1000, seed = 0 }: BootstrapOptions = {},
): number[][] {
  const values = columns.map((column) => Float64Array.from(column, (value) => value ?? Number.NaN));
  const drawn = new Int32Array(columns[0]?.length ?? 0);
  const dice = new Dice(seed);
  const means: number[][] = columns.map(() => []);
  for (let round = 0; round < resamples; round++) {
    for (let i = 0; i < drawn.length; i++) drawn[i] = dice.below(drawn.length);
    for (const [c, column] of values.entries()) {
      const mean = meanAt(column, drawn);
      if (!Number.isNaN(mean)) means[c]?.push(mean);
    }
  }
  return means.map((each) => each.sort((a, b) => a - b));
}

function meanAt(column: Float64Array, drawn: Int32Array): number {
  let [sum, count] = [0, 0];
  for (const i of drawn) {
    const value = column[i] ?? Number.NaN;
    if (Number.isNaN(value)) continue;
    sum += value;
    count += 1;
  }
  return sum / count;
}

/**
 * The percentile interval of resampled means, between neighbours in a straight line as numpy has it.
 *
 * @param means - ascending
 * @returns null without any
 */
export function percentileInterval(
  means: readonly number[],
  { confidence = 0.95 }: BootstrapOptions = {},
): Interval | null {
  if (means.length === 0) return null;
  const tail = (1 - confidence) / 2;
  return [percentile(means, tail), percentile(means, 1 - tail)];
}

function percentile(ascending: readonly number[], share: number): number {
  const place = share * (ascending.length - 1);
  const below = Math.floor(place);
  const low = ascending[below] ?? 0;
  return low + ((ascending[below + 1] ?? low) - low) * (place - below);
}

/**
 * The two-sided p-value of the hypothesis that differences are zero in the mean: twice the smaller share of resampled
 * means on either side of zero, the observed sample counted as one of them.
 *
 * @param means - of differences between paired values, resampled
 * @returns at most 1, at least `2 / (means.length + 1)`
 */
export function bootstrapPValue(means: readonly number[]): number {
  const below = means.filter((mean) => mean <= 0).length;
  const above = means.filter((mean) => mean >= 0).length;
  return Math.min(1, (2 * (1 + Math.min(below, above))) / (means.length + 1));
}
