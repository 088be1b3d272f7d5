/** Format learning: the world's model is shown a recipe's tags by SFT, before it is rewarded for using them well. */

import { schedule } from "../../lib/train/algorithm/schedule.ts";
import { Trainer } from "../../lib/train/learner/trainer.ts";
import { type SftMetrics, sft } from "../../lib/train/sft.ts";
import type { Teaching } from "../world/recipes/world-speech.ts";
import type { Player } from "./player.ts";
import { sequencesOf, worldSft } from "./world-model.ts";

/** What is shown, and where the run is kept. */
export interface LearnFormatOptions {
  /** One batch of demonstrations each. */
  readonly steps: number;
  readonly teaching: Teaching;
  /** Of the steps: how many have a teacher who looks everything up. @default 0.5 */
  readonly carefulShare?: number;
  /** The highest rate. @default 1e-3 */
  readonly peak?: number;
  readonly folder: string;
  readonly seed: number;
  readonly onStep?: (metrics: SftMetrics) => void;
  readonly signal?: AbortSignal | undefined;
}

// A model that can read already learns tags at a third of the rate that taught it reading.
const rate = { peak: 1e-3, warmupSteps: 20, decay: "cosine", floor: 0.1 } as const;

// The shipped model has seen the worlds of the small seeds.
const seedOffset = 1000;

/**
 * Trains the player's model on demonstrations. A run that was killed goes on in its folder.
 *
 * @param player - the model; it keeps the weights it ends with
 * @param options - what is shown
 * @throws ERR_ABORTED when the signal fires
 */
export async function learnFormat({ model, tokenizer }: Player, options: LearnFormatOptions): Promise<void> {
  const { steps, teaching, carefulShare = 0.5, peak = rate.peak, folder, seed, onStep, signal } = options;
  if (steps === 0) return;
  const perWorld = worldSft.batchSize;
  const careful = Math.round(steps * carefulShare) * perWorld;
  const shown = { seed: seed + seedOffset, perWorld, careful };
  await using trainer = await Trainer.open(model, { beta2: 0.95 });
  await sft({
    ...{ trainer, steps, seed },
    batch: (step) => sequencesOf(tokenizer, teaching(step, shown)),
    learningRate: schedule({ ...rate, peak, steps }),
    run: { folder, checkpointEvery: 50, keep: 1 },
    onStep,
    signal,
  });
}
