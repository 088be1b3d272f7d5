/** What a model on a GPU says and learns, as numbers that GPUs which share it must give. */
import { Engine } from "../../../../lib/engine/engine.ts";
import { Adapter } from "../../../../lib/model/adapter.ts";
import type { Model } from "../../../../lib/model/model.ts";
import type { QuantisedWeights } from "../../../../lib/model/weights-form.ts";
import { Critic } from "../../../../lib/train/learner/critic.ts";
import { scoreSequences, Trainer } from "../../../../lib/train/learner/trainer.ts";
import { filled, noise } from "../../../train/tiny.ts";
import { ids, modelOn, scoresOf, shapes } from "../../models.ts";

/** Which model, and what is asked of it. */
export interface SharedCase {
  readonly shape: string;
  readonly what: "draws" | "steps" | "adapter steps" | "values";
  readonly weights?: QuantisedWeights;
}

/** Ids and names, which must be the same, and numbers, which may be rounded otherwise. */
export interface SharedNumbers {
  readonly ids: readonly (readonly number[])[];
  readonly numbers: Readonly<Record<string, readonly number[]>>;
  /** Whether what was drawn has, to the bit, the log-probabilities that training gives it. */
  readonly areScored: boolean;
}

/** Shapes of which 4 ranks have a slice each. */
const own = { "four key heads": { ...shapes["biases and a tied head"]!, numKvHeads: 4 } };

/** The model of a case, on this rank of those that share it. */
export const modelOf = (
  { shape, weights }: SharedCase,
  group?: Parameters<typeof modelOn>[3],
): Promise<Model> => modelOn("emulated", { ...shapes, ...own }[shape]!, weights, group);

const draws = [
  { temperature: 0, topLogprobs: 3 },
  { temperature: 0.7, entropies: true },
  { topP: 0.8, topK: 20, repetitionPenalty: 1.2, topLogprobs: 2 },
] as const;

/** Sequences side by side, forked and cut, in a cache that is given back to a training on the way. */
async function drawsOf(model: Model): Promise<SharedNumbers> {
  await using engine = await Engine.open(model, { blockTokens: 16, numBlocks: 12, maxBatchTokens: 40 });
  const prompts = [ids(17, 1), ids(33, 2), ids(5, 3)];
  const sequences = prompts.map((prompt, i) => engine.open(prompt, { seed: i }));
  const spans = await Promise.all(sequences.map((each, i) => each.generate({ maxTokens: 5, ...draws[i] })));
  const temperatures = [1, 0.7, 1];
  const scored = await Promise.all(
    spans.map(({ ids: drawn }, i) => scoresOf(model, prompts[i]!, drawn, temperatures[i])),
  );
  await using fork = sequences[1]!.fork({ seed: 9 });
  await sequences[1]!.truncate(20);
  const more = await Promise.all([fork, sequences[1]!].map((each) => each.generate({ maxTokens: 3 })));
  const { logprobs } = await sequences[0]!.score(ids(6, 5), { topLogprobs: 2 });
  const whole = await model.scoreLogprobs(ids(12, 4));
  const all = [...spans, ...more];
  return {
    ids: [...all.map((span) => [...span.ids]), ...spans.map(({ topIds }) => [...(topIds ?? [])])],
    numbers: {
      logprobs: all.flatMap((span) => [...span.logprobs]),
      listed: spans.flatMap(({ topLogprobs, entropies }) => [...(topLogprobs ?? []), ...(entropies ?? [])]),
      scored: [...logprobs, ...whole.slice(1).map(Number)],
    },
    areScored: spans.every((span, i) => span.logprobs.every((value, k) => value === scored[i]![k])),
  };
}

const sequences = [12, 9, 25, 8].map((length, seed) => {
  const tokens = Int32Array.from({ length }, (_, t) => Math.floor(noise(seed, t) * 91));
  const rows = Int32Array.from({ length: length - 4 }, (_, i) => 3 + i);
  const weights = filled(rows.length, () => 0.05);
  return { tokens, rows, weights, advantages: filled(rows.length, (k) => noise(seed, k) - 0.4) };
});

/** Two steps, between which the model draws. */
async function stepsOf(model: Model, isAdapter: boolean): Promise<SharedNumbers> {
  const policy = isAdapter ? await Adapter.create(model, { rank: 4, seed: 5 }) : model;
  const numbers: Record<string, readonly number[]> = {};
  await using engine = await Engine.open(model, { blockTokens: 16, numBlocks: 8 });
  await using trainer = await Trainer.open(policy, { epsilon: 0.05, maxGradNorm: 0.5 });
  const drawn: number[][] = [];
  const names = policy.handle.tensors().map(({ name }) => name);
  for (let step = 0; step < 2; step += 1) {
    const loss = { objective: "clipped" as const, entropyCoef: 0.01, temperature: 0.9 };
    const { logprobs } = await scoreSequences(policy, sequences, { temperature: 0.9 });
    const given = sequences.map((one, i) => ({ ...one, oldLogprobs: logprobs[i]! }));
    const stats = await trainer.accumulate(step === 0 ? sequences : given, {
      ...(step === 0 ? {} : loss),
      maxTokens: 30,
    });
    numbers[`loss ${step}`] = [stats.loss];
    if (step === 0)
      for (const name of names) numbers[`gradient of ${name}`] = [...(await trainer.gradient(name))];
    const { gradNorm } = await trainer.step({ learningRate: 0.01 });
    numbers[`norm ${step}`] = [gradNorm];
    await using sequence = engine.open(ids(20, step), {
      seed: step,
      adapter: isAdapter ? (policy as Adapter) : undefined,
    });
    drawn.push([...(await sequence.generate({ maxTokens: 2, temperature: 0 })).ids]);
  }
  for (const name of names) numbers[name] = [...(await policy.parameter(name))];
  if (policy instanceof Adapter) policy.close();
  return { ids: drawn, numbers, areScored: true };
}

/** What a critic predicts after a step. */
async function valuesOf(model: Model): Promise<SharedNumbers> {
  await using critic = await Critic.open(model, { epsilon: 0.05 });
  const batch = sequences.map((one) => {
    const of = (salt: number) => filled(one.rows.length, (k) => noise(k, salt));
    return { ...one, returns: of(3), oldValues: of(4) };
  });
  const { loss } = await critic.accumulate(batch, { maxTokens: 30 });
  const { gradNorm } = await critic.step({ learningRate: 0.01 });
  const values = (await critic.values(batch)).flatMap((row) => [...row]);
  return { ids: [], numbers: { losses: [loss, gradNorm], values }, areScored: true };
}

/** Everything that a case asks, on the rank that leads. */
export function answerOf(model: Model, { what }: SharedCase): Promise<SharedNumbers> {
  if (what === "draws") return drawsOf(model);
  return what === "values" ? valuesOf(model) : stepsOf(model, what === "adapter steps");
}
