/** The exact sign test, which for answers that are right or wrong is McNemar's. */

/** On how many questions only one of two runs does better. */
export interface SignTest {
  readonly onlyFirst: number;
  readonly onlySecond: number;
  /** Two-sided and exact: how likely so uneven a split is when both are equally good. */
  readonly pValue: number;
}

/**
 * Compares paired values by which is the larger; ties say nothing.
 *
 * @param first - one value per question
 * @param second - of the same questions
 * @returns counts and the p-value, 1 when there are ties only
 * @example
 * const { onlyFirst, pValue } = signTest([1, 1, 0], [0, 0, 0]);
 * assert.deepEqual([onlyFirst, pValue], [2, 0.5]);
 */
export function signTest(first: readonly number[], second: readonly number[]): SignTest {
  const onlyFirst = first.filter((value, i) => value > (second[i] ?? value)).length;
  const onlySecond = first.filter((value, i) => value < (second[i] ?? value)).length;
  const tail = lowerTail(Math.min(onlyFirst, onlySecond), onlyFirst + onlySecond);
  return { onlyFirst, onlySecond, pValue: Math.min(1, 2 * tail) };
}

/** The chance of at most `heads` heads in `tosses` of a fair coin; summed as logarithms, which do not underflow. */
function lowerTail(heads: number, tosses: number): number {
  let logChance = -tosses * Math.LN2;
  let sum = Math.exp(logChance);
  for (let k = 1; k <= heads; k++) {
    logChance += Math.log((tosses - k + 1) / k);
    sum += Math.exp(logChance);
  }
  return sum;
}
