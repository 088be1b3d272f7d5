/** Supervised fine-tuning: batches of weighted sequences, one optimiser step each. */

import { createHash } from "node:crypto";
import { performance } from "node:perf_hooks";
import {
  checkOptions,
  countKind,
  numberIn,
  type OptionKinds,
  optionsOf,
  wholeKind,
} from "../base/check-options.ts";
import { SeekError } from "../base/errors.ts";
import { throwIfAnyAborted } from "../comm/agreement.ts";
import type { Schedule } from "./algorithm/schedule.ts";
import { itemsOfStep } from "./batch/order.ts";
import type { TrainSequence } from "./batch/packing.ts";
import { normaliseWeights } from "./batch/sequence.ts";
import type { Trainer } from "./learner/trainer.ts";
import { explainNonFinite } from "./run/non-finite.ts";
import { withRun } from "./run/run.ts";
import { type RunOptions, runKind } from "./run/run-options.ts";

/** The batch of each step; the same step must always give the same batch, or a resumed run differs. */
export type SftBatch = (step: number) => readonly TrainSequence[] | Promise<readonly TrainSequence[]>;

/** What one step did. */
export interface SftMetrics {
  /** Steps finished, this one included. */
  readonly step: number;
  /** Weighted mean of -log p over the step's rows. */
  readonly loss: number;
  readonly grad_norm: number;
  readonly lr: number;
  /** Tokens of the step, context included. */
  readonly tokens: number;
  readonly "seconds/train": number;
  /** Optimiser steps so far. */
  readonly weights_version: number;
}

/** What to train on, and how. */
export interface SftOptions {
  readonly trainer: Trainer;
  /** See `epochs` for a fixed list of sequences. Weights need not be normalised. */
  readonly batch: SftBatch;
  readonly steps: number;
  readonly learningRate: Schedule;
  /** Names the run; `epochs` takes its own. @default 0 */
  readonly seed?: number;
  /** Names what is trained on: a run resumes with the same only. `epochs` gives a digest. @default it is not compared */
  readonly data?: string | undefined;
  /** @default nothing is written */
  readonly run?: RunOptions | undefined;
  /** Adds its numbers to the metrics after every `every` steps and after the last. */
  readonly evaluation?:
    | {
        readonly every: number;
        readonly evaluate: (step: number) => Promise<Readonly<Record<string, number>>>;
      }
    | undefined;
  /** Tokens of one micro-batch. @default 4096 */
  readonly maxTokens?: number | undefined;
  readonly onStep?: ((metrics: SftMetrics) => void | Promise<void>) | undefined;
  readonly signal?: AbortSignal | undefined;
}

const optionKinds: OptionKinds<SftOptions> = {
  trainer: "object",
  batch: "function",
  steps: wholeKind,
  learningRate: "function",
  seed: wholeKind,
  data: "string",
  run: runKind,
  evaluation: optionsOf<NonNullable<SftOptions["evaluation"]>>({ every: countKind, evaluate: "function" }, [
    "every",
    "evaluate",
  ]),
  maxTokens: countKind,
  onStep: "function",
  signal: "signal",
};

const epochsKinds = { batchSize: countKind, epochs: numberIn({ above: 0 }), seed: wholeKind };

/**
 * Batches of a fixed list, each epoch in an order of its own; the last batch of an epoch is filled from the next.
 *
 * @param sequences - all of them
 * @param options - `batchSize` sequences a step, `epochs` over the list, `seed` of the order
 * @returns `batch`, `steps` and `data` for `sft`
 * @throws ERR_ARGUMENT for an unknown key, and without sequences; ERR_RANGE for a number that cannot be one
 * @example
 * const data = epochs(sequences, { batchSize: 32, epochs: 2, seed: 1 });
 * await sft({ trainer, ...data, learningRate: schedule({ peak: 1e-4 }) });
 */
export function epochs(
  sequences: readonly TrainSequence[],
  options: { readonly batchSize: number; readonly epochs: number; readonly seed?: number },
): { readonly batch: SftBatch; readonly steps: number; readonly data: string } {
  checkOptions("epochs", options, epochsKinds, ["batchSize", "epochs"]);
  const { batchSize, seed = 0 } = options;
  if (sequences.length === 0) throw new SeekError("ERR_ARGUMENT", "sequences: expected at least one");
  const steps = Math.ceil((sequences.length * options.epochs) / batchSize);
  const order = { count: sequences.length, perStep: batchSize, seed };
  const batch = (step: number): TrainSequence[] => itemsOfStep(step, order).map((i) => sequences[i]!);
  return { steps, batch, data: digestOfSequences(sequences, order) };
}

function digestOfSequences(sequences: readonly TrainSequence[], order: object): string {
  const hash = createHash("sha256").update(JSON.stringify(order));
  for (const { tokens, rows, weights, starts } of sequences) {
    for (const part of [tokens, rows, weights, starts]) hash.update(`${part?.length};`).update(part ?? "");
  }
  return hash.digest("hex");
}

/**
 * Trains by the weighted mean of -log p. With a run folder, a killed training goes on from its last checkpoint and ends
 * with the same weights, bit for bit (law 5); one that its signal ends goes on from its last step.
 *
 * @param options - trainer, data, schedule, run folder
 * @returns the last step's metrics; undefined when the run was finished already
 * @throws ERR_ARGUMENT for an unknown key; ERR_ABORTED when the signal fires, between steps; ERR_RANGE when gradient or weights are not finite; ERR_STATE
 *   when the run folder is another process's, or was begun with other settings; ERR_FORMAT when a file in it is damaged
 * @example
 * const batch = () => sequences;
 * const metrics = await sft({ trainer, batch, steps: 1, learningRate: schedule({ peak: 1e-4 }) });
 * assert.ok(metrics && metrics.loss > 0);
 */
export async function sft(options: SftOptions): Promise<SftMetrics | undefined> {
  checkOptions("sft", options, optionKinds, ["trainer", "batch", "steps", "learningRate"]);
  const { trainer, steps, seed = 0, data, signal } = options;
  const learningRates = { policy: options.learningRate };
  const subject = { kind: "sft" as const, seed, steps, settings: { data }, learningRates, trainer };
  return withRun(options.run, subject, async (run) => {
    let last: SftMetrics | undefined;
    for (let step = run?.resumedStep ?? 0; step < steps; step += 1) {
      await throwIfAnyAborted(trainer.processGroup, signal, "sft");
      last = { ...(await sftStep(step, options)), ...(await evaluated(step + 1, options)) };
      await run?.logMetrics({ ...last });
      await options.onStep?.(last);
      await run?.finishStep(last, { isLast: step + 1 === steps });
    }
    return last;
  });
}

async function evaluated(step: number, { trainer, evaluation, steps }: SftOptions) {
  if (evaluation === undefined || (step % evaluation.every !== 0 && step !== steps)) return {};
  await trainer.gatherWeights();
  return evaluation.evaluate(step);
}

async function sftStep(step: number, options: SftOptions): Promise<SftMetrics> {
  const { trainer, maxTokens } = options;
  const sequences = normaliseWeights(await options.batch(step));
  const started = performance.now();
  const lr = options.learningRate(step);
  const { loss } = await trainer.accumulate(sequences, { maxTokens });
  const { gradNorm } = await explainNonFinite(step + 1, trainer.step({ learningRate: lr }));
  return {
    step: step + 1,
    loss,
    grad_norm: gradNorm,
    lr,
    tokens: sequences.reduce((sum, { tokens }) => sum + tokens.length, 0),
    "seconds/train": (performance.now() - started) / 1000,
    weights_version: trainer.numSteps,
  };
}
