/** The adaptive weight of the KL penalty: it grows while the policy is too far from its reference, and shrinks near it. */

/** Where the distance should be, and how fast the weight may move. */
export interface KlTarget {
  /** Mean KL per policy token that is aimed at, greater than 0. */
  readonly target: number;
  /** Trajectories over which a weight that is wholly wrong moves by 20 %. */
  readonly horizon: number;
}

const mostError = 0.2;

/**
 * One step of the controller (Ziegler et al., arXiv 1909.08593): `coef * (1 + clip(kl / target - 1, -0.2, 0.2) * n / horizon)`.
 *
 * @param coef - the weight so far
 * @param measured - `kl`, the mean over trajectories of the mean over their tokens; `trajectories`, how many they are
 * @param aim - target and horizon
 * @returns the next step's weight
 * @example
 * const coef = nextKlCoef(0.01, { kl: 0.3, trajectories: 50 }, { target: 0.1, horizon: 1000 });
 * assert.ok(Math.abs(coef - 0.0101) < 1e-12);
 */
export function nextKlCoef(
  coef: number,
  { kl, trajectories }: { readonly kl: number; readonly trajectories: number },
  { target, horizon }: KlTarget,
): number {
  const error = Math.max(-mostError, Math.min(mostError, kl / target - 1));
  return coef * (1 + (error * trajectories) / horizon);
}
