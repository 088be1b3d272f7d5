/** Imitation: a world model is fine-tuned on a teacher's demonstrations, to learn a recipe's form and a teacher's habits. */

import { join, resolve } from "node:path";
import { SeekError } from "../../../lib/base/errors.ts";
import { type LocalPolicy, openLocalPolicy } from "../../../lib/engine/local-policy.ts";
import { copyTokenizer } from "../../../lib/text/tokenizers/copy-tokenizer.ts";
import { schedule } from "../../../lib/train/algorithm/schedule.ts";
import { Trainer } from "../../../lib/train/learner/trainer.ts";
import { latestCheckpoint } from "../../../lib/train/run/checkpoint.ts";
import { type SftMetrics, sft } from "../../../lib/train/sft.ts";
import { mixedTeaching } from "../recipes/patchy-teaching.ts";
import type { Teaching } from "../recipes/world-speech.ts";
import type { Habits } from "../teachers/teacher.ts";
import { type WorldSetting, writeWorldFile } from "../world-file.ts";
import { sequencesOf, worldSft } from "./world-model.ts";

/** What is shown, and where the run is kept. */
interface LearnFormatOptions {
  readonly steps: number;
  /** Of each step. @default worldSft.batchSize */
  readonly demonstrations?: number;
  readonly teaching: Teaching;
  /** Of the steps: how many have a teacher who looks everything up. @default 0.5 */
  readonly carefulShare?: number;
  /** The highest rate. @default 1e-3 */
  readonly peak?: number;
  /** The first batch; a second training takes up where the first one ended. @default 0 */
  readonly firstBatch?: number;
  readonly folder: string;
  readonly seed: number;
  /** What the checkpoints say of the world they belong to. */
  readonly worldSetting: WorldSetting;
  readonly onStep?: (metrics: SftMetrics) => void;
  readonly signal?: AbortSignal | undefined;
}

// A model that can read already learns tags at a third of the rate that taught it reading.
const rate = { peak: 1e-3, warmupSteps: 20, decay: "cosine", floor: 0.1 } as const;

// The shipped model has seen the worlds of the small seeds.
const seedOffset = 1000;

/**
 * Trains the policy on demonstrations. A run that was killed goes on in its folder, whose checkpoints are model
 * folders.
 *
 * @param policy - the model; it keeps the weights it ends with
 * @param options - what is shown
 * @throws ERR_ABORTED when the signal fires
 */
export async function learnFormat(policy: LocalPolicy, options: LearnFormatOptions): Promise<void> {
  const { steps, teaching, carefulShare = 0.5, peak = rate.peak, firstBatch = 0 } = options;
  const { folder, seed, worldSetting, onStep, signal } = options;
  if (steps === 0) return;
  const { demonstrations: perWorld = worldSft.batchSize } = options;
  const careful = Math.round(steps * carefulShare) * perWorld;
  const shown = { seed: seed + seedOffset, perWorld, careful };
  const onCheckpoint = async (to: string): Promise<void> => {
    await copyTokenizer(policy.folder, to);
    await writeWorldFile(to, worldSetting);
  };
  await using trainer = await Trainer.open(policy.model, { beta2: 0.95 });
  await sft({
    ...{ trainer, steps, seed },
    batch: (step) => sequencesOf(policy.tokenizer, teaching(firstBatch + step, shown)),
    learningRate: schedule({ ...rate, peak, steps }),
    run: {
      ...{ folder, checkpointEvery: 50, keep: 1, onCheckpoint },
      config: { model: resolve(policy.folder), steps, seed, world: worldSetting },
    },
    onStep,
    signal,
  });
}

/** Where the runs of one demo are kept. */
interface ImitateOptions {
  readonly out: string;
  /** Tells the folders of this demo from those of other seeds and sizes. */
  readonly suffix: string;
  readonly seed: number;
  readonly device: string;
  /** Of a step of SFT. */
  readonly demonstrations: number;
  readonly onLine: (line: string) => void;
  readonly signal?: AbortSignal | undefined;
}

/** Whom to imitate, and for how long. */
interface Imitation {
  readonly name: string;
  /** Folder of the model to begin with. */
  readonly from: string;
  readonly habits: Habits;
  readonly steps: number;
  /** The first batch of demonstrations that is shown. @default 0 */
  readonly firstBatch?: number;
}

/**
 * Fine-tunes a model on a teacher's demonstrations; a run that is finished already is not repeated.
 *
 * @param options - folders, seed, device
 * @param imitation - start, teacher, steps
 * @returns the folder of the model it has become
 * @throws ERR_ABORTED when the signal fires; ERR_IO when the folder cannot be written
 */
export async function imitate(options: ImitateOptions, imitation: Imitation): Promise<string> {
  const { out, suffix, seed, device, demonstrations, onLine, signal } = options;
  const { name, from, habits, steps, firstBatch } = imitation;
  const folder = join(out, `${name}-${suffix}`);
  await using policy = await openLocalPolicy({ model: from, device }, { seed });
  await learnFormat(policy, {
    ...{ folder, steps, demonstrations, seed, signal, firstBatch, carefulShare: 0 },
    teaching: mixedTeaching(habits),
    worldSetting: { seed, search: "patchy" },
    onStep: ({ step, loss }) => {
      if (step % 50 === 0 || step === steps) onLine(`${name} ${step}/${steps}  loss ${loss.toFixed(3)}`);
    },
  });
  const checkpoint = await latestCheckpoint(join(folder, "checkpoints"));
  if (checkpoint === undefined)
    throw new SeekError("ERR_STATE", `${folder}: expected a checkpoint, got none`);
  return checkpoint.folder;
}
