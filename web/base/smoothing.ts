/** Curves made smooth: an exponential average without the bias of its start. */

/**
 * The exponential moving average, divided by the weight that it has seen, so that the first values are not drawn to 0.
 * What is missing stays missing and does not move the average.
 *
 * @param values - in order of steps; null and what is not finite count as missing
 * @param factor - weight of the past, from 0 (nothing is changed) to below 1
 * @returns as many values
 */
export function smooth(values: readonly (number | null | undefined)[], factor: number): (number | null)[] {
  let [sum, weight] = [0, 0];
  return values.map((value) => {
    if (value === null || value === undefined || !Number.isFinite(value)) return null;
    sum = factor * sum + (1 - factor) * value;
    weight = factor * weight + (1 - factor);
    return sum / weight;
  });
}
