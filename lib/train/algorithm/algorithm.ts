/** PPO, GRPO and their relatives as options of one loss and one loop. */

import {
  checkOptions,
  countKind,
  numberIn,
  type OptionCheck,
  optionsOf,
  shownValue,
  wholeKind,
} from "../../base/check-options.ts";
import { SeekError } from "../../base/errors.ts";
import type { TrainSequence } from "../batch/packing.ts";
import type { LossOn } from "../batch/sequence.ts";
import type { KlTarget } from "./kl-target.ts";
import {
  advantages,
  type KlEstimator,
  klEstimators,
  lossSpans,
  ratioObjectives,
  tokenRewardForms,
} from "./names.ts";
import { correctionKind, type OffPolicyCorrection } from "./off-policy-correction.ts";

/**
 * How the rows' losses become one number, over the whole optimiser step: `token-mean` (every token weighs the same),
 * `sequence-mean` (every trajectory does), or the sum divided by trajectories x a constant (Dr. GRPO).
 */
export type Aggregation = "token-mean" | "sequence-mean" | { readonly tokensPerSequence: number };

/** How the distance to the reference counts. */
export interface KlTerm {
  readonly in: "loss" | "reward";
  readonly estimator: KlEstimator;
  /** With `adaptive`, the first step's. */
  readonly coef: number;
  /** Moves `coef` towards this distance; for `in: "reward"`. @default it stays */
  readonly adaptive?: KlTarget;
}

/** What to learn from a batch of rewarded trajectories. */
export interface Algorithm {
  /**
   * `gae` needs a critic; `remax` answers each question greedily too; `reinforce` compares nothing; `reinforce++` compares
   * each token with all tokens of the step; the others compare the samples of one question, `reinforce++-baseline` the
   * tokens of the step after that.
   */
  readonly advantage: (typeof advantages)[number];
  /**
   * How rewards of single tokens enter the comparison with a group; GAE knows them anyway. `to-go`: a token's advantage
   * is what its trajectory still earns from there on, less what the group earns on average over as much of it. `ratio`:
   * Agentic-RAG-R1's `r_t z / R`, the advantage of the whole reward `R` by the token's share in it, which changes its
   * sign where `R` is negative and grows without bound near 0.
   *
   * @default "to-go"
   */
  readonly tokenRewards?: (typeof tokenRewardForms)[number];
  /** What a reward counts a token earlier; of `gae` and `reinforce++`. @default 1 */
  readonly gamma?: number;
  /** GAE's. @default 1 */
  readonly lambda?: number;
  /**
   * The ratio: per token, or per sequence (GSPO). `cispo`: the clipped ratio is a weight of the log-probability, so that
   * a token outside of the bounds keeps its gradient (MiniMax-M1, arXiv 2506.13585). @default "clipped"
   */
  readonly objective?: (typeof ratioObjectives)[number];
  /**
   * The ratio stays within `[1 - low, 1 + high]`; with `dual` a negative advantage counts at most so many times, however
   * large the ratio (arXiv 1912.09729). @default 0.2, 0.2, no bound
   */
  readonly clip?: { readonly low: number; readonly high: number; readonly dual?: number };
  /** What a token counts that other weights sampled. @default as any other; `tis` with `batch.staleness` */
  readonly correction?: OffPolicyCorrection;
  /** @default "token-mean" */
  readonly aggregation?: Aggregation;
  /** Distance to the reference, as a term of the loss or taken from each token's reward. @default none */
  readonly kl?: KlTerm;
  /**
   * How often a step asks other questions in place of those whose rollouts all earned the same, which teach nothing
   * (dynamic sampling of DAPO, arXiv 2503.14476). What is still missing then makes the step smaller.
   *
   * @default 0: they stay in the step
   */
  readonly dynamicSampling?: number;
  /** @default 0 */
  readonly entropyCoef?: number;
  /** How far a value may move in one step's loss. @default 0.5 */
  readonly valueClip?: number;
  /**
   * `all` breaks law 2 on purpose: everything behind the prompt is trained on, what was retrieved included. It is there
   * for the ablation of the mask of retrieved tokens and for nothing else.
   *
   * @default "policy"
   */
  readonly lossOn?: LossOn;
  /** Passes over the trajectories. @default 1 */
  readonly epochs?: number;
  /** Optimiser steps per pass. @default 1 */
  readonly miniBatches?: number;
}

const aggregationKind: OptionCheck = (name, value) => {
  if (value === "token-mean" || value === "sequence-mean") return;
  if (typeof value !== "object") {
    const expected = '"token-mean", "sequence-mean" or {tokensPerSequence}';
    throw new SeekError("ERR_ARGUMENT", `${name}: expected ${expected}, got ${shownValue(value)}`);
  }
  checkOptions(name, value, { tokensPerSequence: numberIn({ above: 0 }) }, ["tokensPerSequence"]);
};

const adaptiveKind = optionsOf<KlTarget>(
  { target: numberIn({ above: 0 }), horizon: numberIn({ above: 0 }) },
  ["target", "horizon"],
);

/** Of an option `algorithm`. */
export const algorithmKind = optionsOf<Algorithm>(
  {
    advantage: advantages,
    tokenRewards: tokenRewardForms,
    gamma: numberIn({ above: 0, to: 1 }),
    lambda: numberIn({ from: 0, to: 1 }),
    objective: ratioObjectives,
    clip: optionsOf<NonNullable<Algorithm["clip"]>>(
      { low: numberIn({ above: 0, to: 1 }), high: numberIn({ above: 0 }), dual: numberIn({ above: 1 }) },
      ["low", "high"],
    ),
    correction: correctionKind,
    aggregation: aggregationKind,
    kl: optionsOf<KlTerm>(
      {
        in: ["loss", "reward"],
        estimator: klEstimators,
        coef: numberIn({ from: 0 }),
        adaptive: adaptiveKind,
      },
      ["in", "estimator", "coef"],
    ),
    dynamicSampling: wholeKind,
    entropyCoef: numberIn({ from: 0 }),
    valueClip: numberIn({ from: 0 }),
    lossOn: lossSpans,
    epochs: countKind,
    miniBatches: countKind,
  },
  ["advantage"],
);

/**
 * The published algorithms; copy one and change what you need. A loss is always over one optimiser step, so that it does
 * not depend on micro-batches as verl's does (law 3).
 *
 * @example
 * const gentle = { ...algorithms.ppo, clip: { low: 0.1, high: 0.1 } };
 * assert.equal(gentle.advantage, "gae");
 */
export const algorithms = {
  /** As in Search-R1 and RAG-R1: KL in the reward, a small entropy bonus. */
  ppo: {
    advantage: "gae",
    kl: { in: "reward", estimator: "k1", coef: 0.001 },
    entropyCoef: 0.001,
    miniBatches: 4,
  },
  /** As in Search-R1: KL in the loss, every token weighs the same, two optimiser steps a batch. */
  grpo: {
    advantage: "grpo",
    kl: { in: "loss", estimator: "k3", coef: 0.001 },
    entropyCoef: 0.001,
    miniBatches: 2,
  },
  /** As Search-R1's GRPO with a single sample of each question: the reward itself. */
  reinforce: {
    advantage: "reinforce",
    kl: { in: "loss", estimator: "k3", coef: 0.001 },
    entropyCoef: 0.001,
    miniBatches: 2,
  },
  /** Without the two length and difficulty biases of GRPO (arXiv 2503.20783). */
  "dr-grpo": { advantage: "dr-grpo", aggregation: { tokensPerSequence: 1000 } },
  /**
   * Higher upper clip, token mean, no KL, questions without a difference replaced; 512 of 8,192 trajectories in each of 16
   * optimiser steps (arXiv 2503.14476).
   */
  dapo: { advantage: "grpo", clip: { low: 0.2, high: 0.28 }, dynamicSampling: 3, miniBatches: 16 },
  /** One ratio per sequence, clipped closely; four optimiser steps a batch (arXiv 2507.18071). */
  gspo: {
    advantage: "grpo",
    objective: "clipped-sequence",
    clip: { low: 3e-4, high: 4e-4 },
    aggregation: "sequence-mean",
    miniBatches: 4,
  },
  /**
   * No token is clipped away: ratios up to 5 are weights, with no bound below; groups, optimiser steps and dynamic sampling
   * as in DAPO, which it was compared with (arXiv 2506.13585; the bound of arXiv 2510.13786).
   */
  cispo: {
    advantage: "grpo",
    objective: "cispo",
    clip: { low: 1, high: 4 },
    dynamicSampling: 3,
    miniBatches: 16,
  },
  rloo: { advantage: "rloo" },
  /** Against the greedy answer of each question; one sample is enough. */
  remax: { advantage: "remax", kl: { in: "reward", estimator: "k1", coef: 0.001 } },
  /** KL in each token's reward, advantages normalised over the step; one sample is enough (arXiv 2501.03262). */
  "reinforce++": { advantage: "reinforce++", kl: { in: "reward", estimator: "k1", coef: 0.001 } },
  /** The same paper's variant with the group's mean as baseline and KL in the loss: the default of new recipes. */
  "reinforce++-baseline": {
    advantage: "reinforce++-baseline",
    kl: { in: "loss", estimator: "k2", coef: 0.001 },
  },
} as const satisfies Record<string, Algorithm>;

/**
 * Each row's share in the loss of one optimiser step, from the sizes of all its trajectories; independent of how they
 * are packed (law 3).
 *
 * @param sequences - all trajectories of the step
 * @param aggregation - see {@link Aggregation}
 * @returns the sequences with `weights`
 */
export function aggregate(
  sequences: readonly TrainSequence[],
  aggregation: Aggregation = "token-mean",
): TrainSequence[] {
  const numRows = sequences.reduce((sum, { rows }) => sum + rows.length, 0);
  const weightOf = (rows: number): number => {
    if (aggregation === "token-mean") return 1 / numRows;
    if (aggregation === "sequence-mean") return 1 / (sequences.length * rows);
    return 1 / (sequences.length * aggregation.tokensPerSequence);
  };
  return sequences.map((sequence) => ({
    ...sequence,
    weights: new Float32Array(sequence.rows.length).fill(weightOf(sequence.rows.length)),
  }));
}
