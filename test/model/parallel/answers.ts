/** What a model says in all the ways in which it can be asked, as numbers that other layouts of the same model must give. */
import { Engine } from "../../../lib/engine/engine.ts";
import type { Scores } from "../../../lib/engine/span.ts";
import { Adapter } from "../../../lib/model/adapter.ts";
import type { DecoderShape } from "../../../lib/model/config/config.ts";
import type { Model } from "../../../lib/model/model.ts";
import { prompt } from "../../engine/models.ts";

/** Shapes that together have every option of the decoder; 4 ranks divide the second. */
export const shapes = {
  qwen2: {
    ...{ vocabSize: 97, hiddenSize: 32, intermediateSize: 64, numLayers: 2, numHeads: 4, numKvHeads: 2 },
    ...{ qkvBias: true, tieEmbeddings: true, maxPosition: 512 },
  },
  qwen3: {
    architecture: "Qwen3ForCausalLM",
    ...{ vocabSize: 101, hiddenSize: 48, intermediateSize: 40, numLayers: 2, numHeads: 8, numKvHeads: 4 },
    ...{ headDim: 8, qkNorm: true, maxPosition: 512 },
  },
  llama: {
    architecture: "LlamaForCausalLM",
    ...{ vocabSize: 97, hiddenSize: 32, intermediateSize: 36, numLayers: 2, numHeads: 4, numKvHeads: 2 },
    ...{ attentionBias: true, mlpBias: true, maxPosition: 512 },
  },
  gemma2: {
    architecture: "Gemma2ForCausalLM",
    ...{ vocabSize: 97, hiddenSize: 32, intermediateSize: 64, numLayers: 2, numHeads: 4, numKvHeads: 2 },
    ...{ logitSoftcap: 5, attentionSoftcap: 10, maxPosition: 512 },
  },
  experts: {
    architecture: "Qwen3MoeForCausalLM",
    ...{ vocabSize: 97, hiddenSize: 32, intermediateSize: 16, numLayers: 2, numHeads: 4, numKvHeads: 2 },
    ...{ numExperts: 4, numChosenExperts: 2, maxPosition: 512 },
  },
} satisfies Readonly<Record<string, DecoderShape>>;

/** Ids, which must be the same, and what is computed of them, which may differ in the last bits. */
export interface Answers {
  readonly ids: readonly (readonly number[])[];
  readonly numbers: readonly (readonly number[])[];
  /** Whether each sampled token has the log-probability, to the bit, that one forward over its sequence gives it. */
  readonly areScored: boolean;
}

const draws = [
  { temperature: 0 },
  { temperature: 0.7 },
  { topP: 0.8, topK: 20 },
  { repetitionPenalty: 1.3, presencePenalty: 0.5, minP: 0.02, logitBias: { 5: 1.5 } },
] as const;

/** Sequences of each adapter and of none at once. */
export async function adaptedAnswersOf(model: Model, folders: readonly string[]): Promise<Answers> {
  const adapters = await Promise.all(folders.map((folder) => Adapter.load(model, folder)));
  await using engine = await Engine.open(model, { blockTokens: 16, numBlocks: 14, maxBatchTokens: 48 });
  const sequences = [undefined, ...adapters, adapters[0]].map((adapter, i) =>
    engine.open(prompt(20 + i), { seed: i, adapter }),
  );
  const spans = await Promise.all(sequences.map((each) => each.generate({ maxTokens: 14 })));
  const whole = await adapters[0]!.scoreLogprobs(sequences[1]!.tokens);
  const own = whole.slice(-14);
  for (const adapter of adapters) adapter.close();
  return {
    ids: spans.map(({ ids }) => [...ids]),
    numbers: [...spans.map(({ logprobs }) => [...logprobs]), whole.slice(1).map(Number)],
    areScored: own.every((value, i) => value === spans[1]!.logprobs[i]),
  };
}

/** Many sequences at once in a cache that is too small for them: forks, found prefixes and sequences that lose their blocks. */
export async function answersOf(model: Model): Promise<Answers> {
  await using engine = await Engine.open(model, { blockTokens: 16, numBlocks: 14, maxBatchTokens: 48 });
  const options = { maxTokens: 14, entropies: true, topLogprobs: 3 };
  const sequences = draws.map((_, i) => engine.open(prompt(20 + i), { seed: i }));
  const spans = await Promise.all(sequences.map((each, i) => each.generate({ ...options, ...draws[i] })));
  const forks = sequences.map((each, i) => each.fork({ seed: 40 + i }));
  for (const each of forks) each.append(prompt(3));
  const more = await Promise.all([...forks, ...sequences].map((each) => each.generate(options)));
  const all = [...spans, ...more];
  const scores: Scores = await sequences[0]!.score(prompt(9), { topLogprobs: 2 });
  const first = sequences[1]!.tokens;
  const whole = await model.scoreLogprobs(first);
  const last = more[5]!;
  const own = whole.slice(-last.ids.length);
  return {
    ids: [...all.map(({ ids }) => [...ids]), ...all.map(({ topIds }) => [...topIds!]), [...scores.topIds!]],
    numbers: [
      ...all.flatMap((span) => [[...span.logprobs], [...span.entropies!], [...span.topLogprobs!]]),
      ...[[...scores.logprobs], [...scores.entropies], [...scores.topLogprobs!], whole.slice(1).map(Number)],
    ],
    areScored: own.every((value, i) => value === last.logprobs[i]),
  };
}
