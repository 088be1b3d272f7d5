/** Where numbers stand on an axis, and which of them it names. */

/** An axis from one number to another, and round numbers between them. */
export interface Scale {
  readonly from: number;
  readonly to: number;
  readonly ticks: readonly number[];
}

/** The smallest of 1, 2, 5, 10, 20, ... times a power of ten that is not below a number. */
function roundStep(least: number): number {
  const power = 10 ** Math.floor(Math.log10(least));
  const factor = [1, 2, 5, 10].find((each) => each * power >= least * (1 - 1e-9)) ?? 10;
  return factor * power;
}

/**
 * An axis that holds all values; its ends are ticks.
 *
 * @param values - finite ones, at least one
 * @param numTicks - about as many as are wanted
 * @example
 * assert.deepEqual(scaleOf([0.12, 0.93], 4).ticks, [0, 0.5, 1]);
 */
export function scaleOf(values: readonly number[], numTicks: number): Scale {
  const [low, high] = [lowestOf(values), highestOf(values)];
  const spread = high - low || Math.abs(high) || 1;
  const step = roundStep(spread / Math.max(1, numTicks - 1));
  const first = Math.floor(low / step + 1e-9);
  const last = Math.max(first + 1, Math.ceil(high / step - 1e-9));
  const ticks = Array.from({ length: last - first + 1 }, (_, i) =>
    Number(((first + i) * step).toPrecision(12)),
  );
  return { from: ticks[0]!, to: ticks.at(-1)!, ticks };
}

/** The lowest of some numbers, however many. */
export function lowestOf(values: readonly number[]): number {
  return values.reduce((low, value) => Math.min(low, value), Number.POSITIVE_INFINITY);
}

/** The highest of some numbers, however many. */
export function highestOf(values: readonly number[]): number {
  return values.reduce((high, value) => Math.max(high, value), Number.NEGATIVE_INFINITY);
}
