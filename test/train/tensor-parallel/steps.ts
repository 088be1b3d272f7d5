/** A few steps of every kind on a model that may be shared out, as numbers that other layouts of it must give. */
import { Adapter } from "../../../lib/model/adapter.ts";
import type { DecoderShape } from "../../../lib/model/config/config.ts";
import type { Model } from "../../../lib/model/model.ts";
import type { TrainSequence } from "../../../lib/train/batch/packing.ts";
import { Critic } from "../../../lib/train/learner/critic.ts";
import { type LossOptions, scoreSequences, Trainer } from "../../../lib/train/learner/trainer.ts";
import { filled, noise, tinySequence } from "../tiny.ts";

/** What is trained, and by which loss. */
export interface StepsCase {
  readonly shape: DecoderShape;
  readonly loss: "sft" | "grpo";
  /** Whether an adapter is trained, or the weights. */
  readonly isAdapter?: boolean;
  readonly dtype?: "float32" | "bfloat16";
  readonly weights?: "nf4";
  /** Bytes of a micro-batch: none makes all layers compute their activations again. */
  readonly activationBytes?: number;
}

/** By the name of what was computed. */
export type Numbers = Readonly<Record<string, readonly number[]>>;

const losses: Record<StepsCase["loss"], LossOptions> = {
  sft: {},
  grpo: { objective: "clipped", entropyCoef: 0.01, kl: { estimator: "k3", coef: 0.1 }, temperature: 0.9 },
};

// An epsilon far above the gradients' noise: a step then is no larger than what a sum's order changes in them.
const settings = { epsilon: 0.05, maxGradNorm: 0.5, weightDecay: 0.1 };

const sequences = (i: number): TrainSequence => {
  const sequence = tinySequence(i, 9 + i);
  const size = sequence.rows.length;
  return {
    ...sequence,
    weights: filled(size, () => 0.05),
    advantages: filled(size, (k) => noise(i, k) - 0.4),
    oldLogprobs: filled(size, (k) => -3 - noise(i + 7, k)),
    returns: filled(size, (k) => noise(i + 9, k)),
    oldValues: filled(size, (k) => noise(i + 11, k) - 0.5),
  };
};

/** Three steps, in micro-batches of some sequences. */
export async function stepsOf(
  model: Model,
  { loss, isAdapter, activationBytes }: StepsCase,
): Promise<Numbers> {
  const numbers: Record<string, number[]> = {};
  const batch = [0, 1, 2, 3].map(sequences);
  await using reference = await model.clone();
  const scored = await scoreSequences(reference, batch, { temperature: 0.9 });
  const policy = isAdapter ? await Adapter.create(model, { rank: 2, seed: 5 }) : model;
  await using trainer = await Trainer.open(policy, { ...settings, activationBytes });
  const named = policy.handle.tensors().map(({ name }) => name);
  numbers["entropies"] = scored.entropies.flatMap((row) => [...row]);
  const given = batch.map((one, i) => ({ ...one, referenceLogprobs: scored.logprobs[i]! }));
  for (let step = 0; step < 3; step += 1) {
    const stats = await trainer.accumulate(given, { ...losses[loss], maxTokens: 24 });
    numbers[`stats ${step}`] = Object.values(stats) as number[];
    for (const name of named) numbers[`gradient ${step} ${name}`] = [...(await trainer.gradient(name))];
    const { gradNorm } = await trainer.step({ learningRate: 0.01 });
    numbers[`norm ${step}`] = [gradNorm];
  }
  for (const name of named) numbers[name] = [...(await policy.parameter(name))];
  numbers["logprobs"] = (await trainer.logprobs(batch)).flatMap((row) => [...row]);
  if (policy instanceof Adapter) policy.close();
  return numbers;
}

/** Values, and those after a step of the critic. */
export async function valuesOf(model: Model): Promise<Numbers> {
  const batch = [0, 1, 2, 3].map(sequences);
  await using critic = await Critic.open(model, settings);
  const { loss } = await critic.accumulate(batch, { maxTokens: 24 });
  const { gradNorm } = await critic.step({ learningRate: 0.01 });
  await critic.accumulate(batch, { maxTokens: 24 });
  await critic.step({ learningRate: 0.01 });
  const values = await critic.values(batch);
  return { losses: [loss, gradNorm], values: values.flatMap((row) => [...row]) };
}
