/** The optimiser steps of one iteration: mini-batches of whole trajectories, critic and policy. */
import { type Algorithm, aggregate } from "./algorithm/algorithm.ts";
import { seededOrder } from "./batch/order.ts";
import type { TrainSequence } from "./batch/packing.ts";
import type { Experience } from "./experience.ts";
import type { LossOptions, LossStats } from "./learner/trainer.ts";
import { mean } from "./rl-metrics.ts";
import type { Learners, RlBatch } from "./rl-options.ts";

/** Means over the optimiser steps of one iteration; norms are the means before clipping. */
interface UpdateMetrics {
  readonly "policy/loss": number;
  readonly "policy/clip_fraction": number;
  /** Mean of old - new log-probability. */
  readonly "policy/kl": number;
  readonly "policy/kl_reference"?: number;
  readonly "policy/entropy": number;
  readonly grad_norm: number;
  /** Mean of `exp(old - rollout)` before it was truncated or masked, and the share of rows that were. */
  readonly "correction/ratio"?: number;
  readonly "correction/share"?: number;
  readonly "value/loss"?: number;
  readonly "value/clip_fraction"?: number;
  readonly "value/grad_norm"?: number;
  readonly "logprob_gap/mean"?: number;
  readonly "logprob_gap/max"?: number;
}

/** What an update needs of its step. */
interface UpdateRates {
  readonly policy: number;
  readonly critic: number;
  /** Names the order of the trajectories. */
  readonly seed: number;
}

/**
 * The loss of an algorithm.
 *
 * @param algorithm - its objective, clip, entropy bonus and KL
 * @param temperature - the rollout's
 * @returns options for `Trainer.accumulate`
 */
export function lossOf(algorithm: Algorithm, temperature: number): LossOptions {
  const { objective = "clipped", entropyCoef = 0, kl, correction } = algorithm;
  const clip: NonNullable<Algorithm["clip"]> = algorithm.clip ?? { low: 0.2, high: 0.2 };
  return {
    objective,
    clipLow: clip.low,
    clipHigh: clip.high,
    clipDual: clip.dual,
    correction,
    entropyCoef,
    temperature,
    kl: kl?.in === "loss" ? { estimator: kl.estimator, coef: kl.coef } : undefined,
  };
}

/** Contiguous parts of nearly equal size. */
function split<T>(items: readonly T[], parts: number): T[][] {
  const count = Math.max(1, Math.min(parts, items.length));
  return Array.from({ length: count }, (_, i) =>
    items.slice(Math.floor((i * items.length) / count), Math.floor(((i + 1) * items.length) / count)),
  );
}

/** Without entropy and KL terms, a trajectory of zero advantage has no gradient and need not be run. */
function withGradient(sequences: readonly TrainSequence[], loss: LossOptions): TrainSequence[] {
  const isBare = (loss.entropyCoef ?? 0) === 0 && loss.kl === undefined;
  return sequences.filter(({ advantages }) => !isBare || advantages?.some((value) => value !== 0));
}

function meanOfEach(rows: readonly Record<string, number>[]): Record<string, number> {
  const names = new Set(rows.flatMap((row) => Object.keys(row)));
  const means = [...names].map((name) => {
    const values = rows.flatMap((row) => (row[name] === undefined ? [] : [row[name]]));
    return [name, name.endsWith("/max") ? Math.max(...values) : mean(values)] as const;
  });
  return Object.fromEntries(means);
}

function correctionMetrics({ correctionRatio, numCorrected, numRows }: LossStats): Record<string, number> {
  if (numRows === 0) return {};
  return { "correction/ratio": correctionRatio / numRows, "correction/share": numCorrected / numRows };
}

async function policyStep(
  sequences: readonly TrainSequence[],
  { trainer }: Learners,
  { loss, rate, maxTokens }: { loss: LossOptions; rate: number; maxTokens: number | undefined },
): Promise<Record<string, number>> {
  const stats = await trainer.accumulate(withGradient(sequences, loss), { ...loss, maxTokens });
  const { gradNorm } = await trainer.step({ learningRate: rate });
  const rows = Math.max(1, stats.numRows);
  const isMeasured =
    stats.numRows > 0 && sequences.every(({ rolloutLogprobs }) => rolloutLogprobs !== undefined);
  return {
    "policy/loss": stats.policy,
    "policy/clip_fraction": stats.numClipped / rows,
    "policy/kl": stats.approxKl / rows,
    "policy/entropy": stats.entropy / rows,
    grad_norm: gradNorm,
    ...(loss.correction === undefined ? {} : correctionMetrics(stats)),
    ...(loss.kl === undefined ? {} : { "policy/kl_reference": stats.kl / rows }),
    ...(isMeasured ? { "logprob_gap/mean": stats.gap / rows, "logprob_gap/max": stats.gapMax } : {}),
  };
}

async function criticStep(
  sequences: readonly TrainSequence[],
  { critic }: Learners,
  { clip, rate, maxTokens }: { clip: number; rate: number; maxTokens: number | undefined },
): Promise<Record<string, number>> {
  if (critic === undefined) return {};
  const stats = await critic.accumulate(aggregate(sequences), { clip, maxTokens });
  const { gradNorm } = await critic.step({ learningRate: rate });
  const rows = Math.max(1, stats.numRows);
  return {
    "value/loss": stats.loss,
    "value/clip_fraction": stats.numClipped / rows,
    "value/grad_norm": gradNorm,
  };
}

/**
 * Updates critic and policy on the experience: `epochs` passes, each in an order of its own, `miniBatches` optimiser
 * steps a pass. Each loss is normalised over its mini-batch.
 *
 * @param experience - what to learn from
 * @param learners - what learns
 * @param algorithm - how
 * @param batch - how rollouts are drawn, and token budget
 * @param rates - learning rates and the seed of the order
 * @returns means over the optimiser steps; the log-prob gap is that of the first, when the weights are the rollout's
 */
export async function update(
  experience: Experience,
  learners: Learners,
  algorithm: Algorithm,
  batch: Pick<RlBatch, "sampling" | "maxTokens">,
  rates: UpdateRates,
): Promise<UpdateMetrics> {
  const sequences = experience.sequences.filter(({ rows }) => rows.length > 0);
  const { maxTokens, sampling } = batch;
  const loss = lossOf(algorithm, sampling?.temperature ?? 1);
  const { epochs = 1, miniBatches = 1, valueClip: clip = 0.5, aggregation } = algorithm;
  const rows: Record<string, number>[] = [];
  for (let epoch = 0; epoch < epochs; epoch += 1) {
    const order = seededOrder(sequences.length, rates.seed, `pass ${epoch}`);
    for (const part of split(order, miniBatches)) {
      const chosen = part.map((i) => sequences[i]!);
      const value = await criticStep(chosen, learners, { clip, rate: rates.critic, maxTokens });
      const weighted = aggregate(chosen, aggregation);
      const policy = await policyStep(weighted, learners, { loss, rate: rates.policy, maxTokens });
      rows.push({ ...policy, ...value });
    }
  }
  const { "logprob_gap/mean": gapMean, "logprob_gap/max": gapMax } = rows[0] ?? {};
  const gap =
    gapMean === undefined || gapMax === undefined
      ? {}
      : { "logprob_gap/mean": gapMean, "logprob_gap/max": gapMax };
  return { ...(meanOfEach(rows) as unknown as UpdateMetrics), ...gap };
}
