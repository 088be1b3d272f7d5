/** Every setting of an algorithm as data, for files and the command line: what help and documentation say of it. */
import { z } from "zod";
import { SeekError } from "../../base/errors.ts";
import { type Algorithm, algorithms } from "./algorithm.ts";
import {
  advantages,
  corrections,
  klEstimators,
  lossSpans,
  ratioObjectives,
  tokenRewardForms,
} from "./names.ts";
import { correctionKind, type OffPolicyCorrection } from "./off-policy-correction.ts";

/** A published algorithm's name. */
type AlgorithmName = keyof typeof algorithms;

const algorithmNames = Object.keys(algorithms) as AlgorithmName[];

const clip = z.strictObject({
  low: z.number().gt(0).lte(1).optional().describe("The ratio stays above 1 less this (0.2)."),
  high: z.number().gt(0).optional().describe("The ratio stays below 1 plus this (low)."),
  dual: z.number().gt(1).optional().describe("A negative advantage counts at most so many times (no bound)."),
});

const correction = z.strictObject({
  by: z
    .enum(corrections)
    .optional()
    .describe(
      'Weighs tokens that other weights sampled by their probability now over then: "tis" at most high, "mis" 0 outside of low to high (none; "tis" with --staleness).',
    ),
  low: z.number().gt(0).lte(1).optional().describe("Of mis: the lowest ratio that counts (0.5)."),
  high: z.number().gte(1).optional().describe("The highest (2 of tis, 5 of mis)."),
});

const kl = z.strictObject({
  in: z.enum(["loss", "reward"]).optional().describe('Where the distance to the reference counts ("loss").'),
  estimator: z.enum(klEstimators).optional().describe('How it is estimated ("k3").'),
  coef: z
    .number()
    .min(0)
    .optional()
    .describe("Its weight; 0 takes the term away, and the reference with it."),
  adaptive: z
    .strictObject({
      target: z.number().gt(0).describe("In the reward: moves the weight towards this KL per token (fixed)."),
      horizon: z
        .number()
        .gt(0)
        .default(10_000)
        .describe("Trajectories over which the weight may move by 20 %."),
    })
    .optional(),
});

/** Settings of an algorithm; what is left out stays as the named one has it. */
export const algorithmChoice = z.strictObject({
  name: z.enum(algorithmNames).optional().describe("A published algorithm to start from (the recipe's)."),
  advantage: z.enum(advantages).optional().describe("What an advantage is."),
  gamma: z.number().gt(0).lte(1).optional().describe("Of gae and reinforce++: the discount (1)."),
  lambda: z.number().min(0).lte(1).optional().describe("Of gae (1)."),
  tokenRewards: z
    .enum(tokenRewardForms)
    .optional()
    .describe(
      'Rewards of single tokens beside a group: "to-go" gives a token what its trajectory still earns from there on, less the group\'s mean of that; "ratio" shares the whole reward\'s advantage out by reward of the token / whole reward ("to-go").',
    ),
  objective: z
    .enum(ratioObjectives)
    .optional()
    .describe(
      'A ratio per token, or per sequence as in GSPO, or as a weight of the log-probability as in CISPO ("clipped").',
    ),
  clip: clip.optional(),
  correction: correction.optional(),
  kl: kl.optional(),
  entropyCoef: z.number().min(0).optional().describe("Weight of the entropy bonus (0)."),
  aggregation: z
    .union([z.enum(["token-mean", "sequence-mean"]), z.number().gt(0)])
    .optional()
    .describe('Every token weighs the same, every trajectory, or each has this divisor ("token-mean").'),
  valueClip: z.number().min(0).optional().describe("How far a value may move in one step; 0 is free (0.5)."),
  epochs: z.int().min(1).optional().describe("Passes over the trajectories of a step (1)."),
  miniBatches: z.int().min(1).optional().describe("Optimiser steps of each pass (1)."),
  dynamicSampling: z
    .int()
    .min(0)
    .optional()
    .describe("Times a step asks other questions for those whose rollouts all earned the same (0)."),
  lossOn: z
    .enum(lossSpans)
    .optional()
    .describe('"all" trains on what was retrieved too: for the ablation of the mask only ("policy").'),
});

/** As it stands in a file: `{ name: "dapo", clip: { high: 0.3 } }`. */
export type AlgorithmChoice = z.output<typeof algorithmChoice>;

/**
 * An algorithm with the settings that were chosen.
 *
 * @param choice - a name, settings, or both
 * @param own - what it starts from where no name is given, a recipe's
 * @returns the algorithm
 * @throws ERR_ARGUMENT for a KL without a weight, or an adaptive one in the loss
 * @example
 * const algorithm = chosenAlgorithm({ kl: { coef: 0.01 } }, algorithms.ppo);
 * assert.deepEqual(algorithm.kl, { in: "reward", estimator: "k1", coef: 0.01 });
 */
export function chosenAlgorithm(
  { name, clip: bounds, kl: distance, correction: weight, aggregation, ...settings }: AlgorithmChoice,
  own: Algorithm,
): Algorithm {
  const base: Algorithm = name === undefined ? own : algorithms[name];
  return {
    ...base,
    ...settings,
    clip: bounds === undefined ? base.clip : clipOf(bounds, base.clip),
    kl: distance === undefined ? base.kl : klOf(distance, base.kl),
    ...(weight && { correction: correctionOf(weight, base.correction) }),
    aggregation:
      typeof aggregation === "number"
        ? { tokensPerSequence: aggregation }
        : (aggregation ?? base.aggregation),
  };
}

type Clip = NonNullable<Algorithm["clip"]>;

function clipOf({ low, high, dual }: z.output<typeof clip>, base?: Clip): Clip {
  const lower = low ?? base?.low ?? 0.2;
  return { low: lower, high: high ?? base?.high ?? lower, dual: dual ?? base?.dual };
}

function correctionOf(
  { by = "tis", ...bounds }: z.output<typeof correction>,
  base?: OffPolicyCorrection,
): OffPolicyCorrection {
  const chosen = { ...(base?.by === by ? base : undefined), by, ...bounds };
  correctionKind("correction", chosen);
  return chosen;
}

function klOf(given: z.output<typeof kl>, base: Algorithm["kl"]): Algorithm["kl"] {
  const { coef, ...others } = { in: "loss", estimator: "k3", ...base, ...given } as const;
  if (coef === 0) return undefined;
  if (coef === undefined) throw new SeekError("ERR_ARGUMENT", "kl.coef: expected a weight, got none");
  if (others.adaptive !== undefined && others.in !== "reward") {
    const what = "expected a KL in the reward, as ppo and remax have it; got one in the loss";
    throw new SeekError("ERR_ARGUMENT", `kl.adaptive: ${what}`);
  }
  return { ...others, coef };
}
