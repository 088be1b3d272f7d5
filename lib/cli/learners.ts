/** Opens what training needs; native code is loaded here, on demand. */
import type { Model } from "../model/model.ts";
import type { Training } from "../recipes/recipe.ts";
import type { Algorithm } from "../train/algorithm.ts";
import type { TrainSequence } from "../train/packing.ts";
import type { RlOptions } from "../train/rl.ts";
import type { SftOptions } from "../train/sft.ts";
import type { Trainer } from "../train/trainer.ts";

/** A trainer with the critic and the reference its algorithm needs, closed together. */
export interface OpenLearners extends AsyncDisposable {
  readonly learners: RlOptions["learners"];
}

/** Opens a trainer of a model. */
export async function openTrainer(model: Model, weightDecay: number): Promise<Trainer> {
  const { Trainer } = await import("../train/trainer.ts");
  return Trainer.open(model, { weightDecay });
}

/** Opens the learners of an algorithm: a critic for GAE, a frozen copy of the model for a KL term. */
export async function openLearners(
  model: Model,
  algorithm: Algorithm,
  { weightDecay }: Pick<Training, "weightDecay">,
): Promise<OpenLearners> {
  const { Critic } = await import("../train/critic.ts");
  const trainer = await openTrainer(model, weightDecay);
  const critic = algorithm.advantage === "gae" ? await Critic.open(model, { weightDecay }) : undefined;
  const reference = algorithm.kl === undefined ? undefined : await model.clone();
  return {
    learners: { trainer, ...(critic ? { critic } : {}), ...(reference ? { reference } : {}) },
    [Symbol.asyncDispose]: async () => {
      for (const part of [trainer, critic, reference]) part?.close();
    },
  };
}

/** Batches and number of steps for a fixed list of sequences. */
export async function planEpochs(
  sequences: readonly TrainSequence[],
  options: { readonly batchSize: number; readonly epochs: number; readonly seed: number },
): Promise<Pick<SftOptions, "batch" | "steps">> {
  const { epochs } = await import("../train/sft.ts");
  return epochs(sequences, options);
}

/** Runs supervised fine-tuning. */
export async function runSft(options: SftOptions): Promise<void> {
  const { sft } = await import("../train/sft.ts");
  await sft(options);
}

/** Runs reinforcement learning. */
export async function runRl(options: RlOptions): Promise<void> {
  const { rl } = await import("../train/rl.ts");
  await rl(options);
}
