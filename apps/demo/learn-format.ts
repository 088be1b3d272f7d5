/** Imitation: a world model is fine-tuned on a teacher's demonstrations, to learn a recipe's form and the teacher's habits. */

import { copyTokenizer } from "../../lib/text/tokenizers/copy-tokenizer.ts";
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
  /** The first batch; a second training takes up where the first one ended. @default 0 */
  readonly firstBatch?: number;
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
 * Trains the player's model on demonstrations. A run that was killed goes on in its folder, whose checkpoints are model
 * folders.
 *
 * @param player - the model; it keeps the weights it ends with
 * @param options - what is shown
 * @throws ERR_ABORTED when the signal fires
 */
export async function learnFormat(player: Player, options: LearnFormatOptions): Promise<void> {
  const { steps, teaching, carefulShare = 0.5, peak = rate.peak, firstBatch = 0 } = options;
  const { folder, seed, onStep, signal } = options;
  if (steps === 0) return;
  const perWorld = worldSft.batchSize;
  const careful = Math.round(steps * carefulShare) * perWorld;
  const shown = { seed: seed + seedOffset, perWorld, careful };
  const onCheckpoint = (to: string) => copyTokenizer(player.folder, to);
  await using trainer = await Trainer.open(player.model, { beta2: 0.95 });
  await sft({
    ...{ trainer, steps, seed },
    batch: (step) => sequencesOf(player.tokenizer, teaching(firstBatch + step, shown)),
    learningRate: schedule({ ...rate, peak, steps }),
    run: { folder, checkpointEvery: 50, keep: 1, onCheckpoint },
    onStep,
    signal,
  });
}
