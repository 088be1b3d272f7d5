/** Makes the built-in world's model from nothing: SFT on demonstrations of a fallible teacher. */
import { mkdir } from "node:fs/promises";
import { parseConfig } from "../../../lib/model/config/parse-config.ts";
import { Model } from "../../../lib/model/model.ts";
import { Tokenizer } from "../../../lib/text/tokenizers/tokenizer.ts";
import { schedule } from "../../../lib/train/algorithm/schedule.ts";
import type { TrainSequence } from "../../../lib/train/batch/packing.ts";
import { sftSequence } from "../../../lib/train/batch/sequence.ts";
import { Trainer } from "../../../lib/train/learner/trainer.ts";
import { type SftMetrics, sft } from "../../../lib/train/sft.ts";
import { worldModelConfig } from "../model-config.ts";
import { type Demonstration, demonstrationBatch } from "../teachers/demonstrations.ts";
import { writeWorldTokenizer } from "../tokenizer-files.ts";

/** How the shipped model was made. */
export const worldSft = {
  steps: 3600,
  /** Demonstrations a step, all from one fresh world, so that a fact must be read and cannot be memorised. */
  batchSize: 24,
  /** Demonstrations over which the names in use grow to all. */
  warmUp: 10_000,
  /** Demonstrations of a careful teacher before the usual, overconfident one takes over. */
  careful: 57_600,
  peak: 3e-3,
  warmupSteps: 100,
  floor: 0.1,
  /** Prompt and observation tokens are learned a little too: copying emerges sooner. */
  otherWeight: 0.1,
  /** Matrices start wider than usual (0.02): with so few layers, copying emerges sooner. */
  initialStd: 0.08,
} as const;

/** Where to put the model, and how it is made. */
export interface WorldModelOptions {
  readonly folder: string;
  readonly seed: number;
  /** @default worldSft.steps */
  readonly steps?: number;
  /** The sequences of one step. @default sftBatch */
  readonly batch?: (tokenizer: Tokenizer, seed: number, step: number) => TrainSequence[];
  /** @default "cpu" */
  readonly device?: string;
  readonly onStep?: (metrics: SftMetrics) => void;
  readonly signal?: AbortSignal;
}

/** Demonstrations as sequences to train on. */
export function sequencesOf(
  tokenizer: Tokenizer,
  shown: readonly Pick<Demonstration, "segments">[],
): TrainSequence[] {
  return shown.map(({ segments }) =>
    sftSequence(
      segments.map(({ kind, text }) => ({ kind, tokens: tokenizer.encode(text) })),
      { otherWeight: worldSft.otherWeight },
    ),
  );
}

/** The demonstrations of one step, as sequences. */
export function sftBatch(tokenizer: Tokenizer, seed: number, step: number): TrainSequence[] {
  const { batchSize, warmUp, careful } = worldSft;
  return sequencesOf(tokenizer, demonstrationBatch(step, { seed, perWorld: batchSize, warmUp, careful }));
}

/**
 * Trains a model of the built-in world and writes it as a model folder.
 *
 * @param options - folder, seed and number of steps
 * @throws ERR_ABORTED when the signal fires; ERR_IO when the folder cannot be written
 */
export async function trainWorldModel(options: WorldModelOptions): Promise<void> {
  const { folder, seed, steps = worldSft.steps, device = "cpu", onStep, signal } = options;
  const { batch = sftBatch } = options;
  await mkdir(folder, { recursive: true });
  writeWorldTokenizer(folder);
  const tokenizer = await Tokenizer.load(folder);
  const config = parseConfig(worldModelConfig(tokenizer.vocabSize), "the world's model");
  await using model = await Model.create(config, { seed, device, std: worldSft.initialStd });
  await using trainer = await Trainer.open(model, { beta2: 0.95 });
  const { peak, warmupSteps, floor } = worldSft;
  await sft({
    trainer,
    steps,
    seed,
    batch: (step) => batch(tokenizer, seed, step),
    learningRate: schedule({ peak, warmupSteps, floor, decay: "cosine", steps }),
    onStep,
    signal,
  });
  await model.save(folder);
}
