/** Random numbers that a seed fixes: tests must not differ between runs. */

/** Numbers in [0, 1): a linear congruential generator with the constants of Numerical Recipes. */
export function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

/** Whole numbers from 0 to below a bound. */
export function dice(seed: number): (below: number) => number {
  const random = randomFrom(seed);
  return (below) => Math.floor(random() * below);
}
