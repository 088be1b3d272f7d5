/** The words of an algorithm's settings, each list once: types, checks, help and documentation are made of them. */

/** Estimators of the distance to the reference, by their names. */
export const klEstimators = ["k1", "k2", "k3", "abs"] as const;

/** Estimators of KL(policy || reference) with d = ref - logp: k1 = -d, k2 = d^2/2, k3 = e^d - d - 1, abs = |d| (verl's). */
export type KlEstimator = (typeof klEstimators)[number];

/** What is made of the ratio of the policy to the one that the update starts from. */
export const ratioObjectives = ["clipped", "clipped-sequence", "cispo"] as const;

/** What a loss may be. */
export const objectives = ["likelihood", ...ratioObjectives] as const;

/** How a loss answers tokens that other weights sampled than the update starts from; see `OffPolicyCorrection`. */
export const corrections = ["tis", "mis"] as const;

/** What an advantage is; see `Algorithm.advantage`. */
export const advantages = [
  "gae",
  "grpo",
  "dr-grpo",
  "rloo",
  "reinforce",
  "reinforce++",
  "reinforce++-baseline",
  "remax",
] as const;

/** How rewards of single tokens enter the comparison with a group. */
export const tokenRewardForms = ["to-go", "ratio"] as const;

/** What the loss looks at. */
export const lossSpans = ["policy", "all"] as const;
