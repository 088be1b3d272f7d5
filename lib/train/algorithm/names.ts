/** The words of an algorithm's settings, each list once: types, checks, help and documentation are made of them. */

/** Estimators of the distance to the reference; see {@link KlEstimator}. */
export const klEstimators = ["k1", "k2", "k3", "abs"] as const;

/** Ratios of the policy to the one that sampled. */
export const ratioObjectives = ["clipped", "clipped-sequence"] as const;

/** What a loss may be. */
export const objectives = ["likelihood", ...ratioObjectives] as const;

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
