/** Supervised fine-tuning: batches of weighted sequences, one optimiser step each. */
import { performance } from "node:perf_hooks";
import { SeekError, throwIfAborted } from "../base/errors.ts";
import type { Schedule } from "./algorithm/schedule.ts";
import { itemsOfStep } from "./batch/order.ts";
import type { TrainSequence } from "./batch/packing.ts";
import { normaliseWeights } from "./batch/sequence.ts";
import type { Trainer } from "./learner/trainer.ts";
import { Run, type RunOptions } from "./run/run.ts";

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
  /** @default nothing is written */
  readonly run?: RunOptions;
  /** Tokens of one micro-batch. @default 4096 */
  readonly maxTokens?: number;
  readonly onStep?: (metrics: SftMetrics) => void | Promise<void>;
  readonly signal?: AbortSignal;
}

/**
 * Batches of a fixed list, each epoch in an order of its own; the last batch of an epoch is filled from the next.
 *
 * @param sequences - all of them
 * @param options - `batchSize` sequences a step, `epochs` over the list, `seed` of the order
 * @returns `batch` and `steps` for `sft`
 * @throws ERR_ARGUMENT without sequences
 * @example
 * const data = epochs(sequences, { batchSize: 32, epochs: 2, seed: 1 });
 * await sft({ trainer, ...data, learningRate: schedule({ peak: 1e-4 }) });
 */
export function epochs(
  sequences: readonly TrainSequence[],
  options: { readonly batchSize: number; readonly epochs: number; readonly seed?: number },
): { readonly batch: SftBatch; readonly steps: number } {
  const { batchSize, seed = 0 } = options;
  if (sequences.length === 0) throw new SeekError("ERR_ARGUMENT", "sequences: expected at least one");
  const steps = Math.ceil((sequences.length * options.epochs) / batchSize);
  const order = { count: sequences.length, perStep: batchSize, seed };
  return { steps, batch: (step) => itemsOfStep(step, order).map((i) => sequences[i]!) };
}

/**
 * Trains by the weighted mean of -log p. With a run folder, a killed training goes on from its last checkpoint and ends
 * with the same weights, bit for bit (law 5); one that its signal ends goes on from its last step.
 *
 * @param options - trainer, data, schedule, run folder
 * @returns the last step's metrics; undefined when the run was finished already
 * @throws ERR_ABORTED when the signal fires, between steps; ERR_RANGE when the gradient is not finite
 * @example
 * const batch = () => sequences;
 * const metrics = await sft({ trainer, batch, steps: 1, learningRate: schedule({ peak: 1e-4 }) });
 * assert.ok(metrics && metrics.loss > 0);
 */
export async function sft(options: SftOptions): Promise<SftMetrics | undefined> {
  const { trainer, steps, seed = 0, signal } = options;
  const run = options.run && (await Run.open(options.run, { kind: "sft", seed, trainer }));
  let last: SftMetrics | undefined;
  try {
    for (let step = run?.resumedStep ?? 0; step < steps; step += 1) {
      throwIfAborted(signal, "sft");
      last = await sftStep(step, options);
      await run?.logMetrics({ ...last });
      await options.onStep?.(last);
      await run?.finishStep(step + 1, { isLast: step + 1 === steps });
    }
  } catch (error) {
    // What ended the run is the news, also where no checkpoint can be written.
    await run?.keepFinished().catch(() => undefined);
    throw error;
  } finally {
    await run?.close();
  }
  return last;
}

async function sftStep(step: number, options: SftOptions): Promise<SftMetrics> {
  const { trainer, maxTokens } = options;
  const sequences = normaliseWeights(await options.batch(step));
  const started = performance.now();
  const lr = options.learningRate(step);
  const { loss } = await trainer.accumulate(sequences, maxTokens === undefined ? {} : { maxTokens });
  const { gradNorm } = await trainer.step({ learningRate: lr });
  return {
    step: step + 1,
    loss,
    grad_norm: gradNorm,
    lr,
    tokens: sequences.reduce((sum, { tokens }) => sum + tokens.length, 0),
    "seconds/train": (performance.now() - started) / 1000,
    weights_version: trainer.model.weightsVersion,
  };
}
