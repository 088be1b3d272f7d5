/** Models small enough for the emulated GPU, with heads as wide as its kernels have them. */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { native } from "../../lib/base/addon/native.ts";
import type { ProcessGroup } from "../../lib/comm/process-group.ts";
import type { DecoderShape } from "../../lib/model/config/config.ts";
import { Model } from "../../lib/model/model.ts";
import type { Policy } from "../../lib/model/policy.ts";
import type { QuantisedWeights } from "../../lib/model/weights-form.ts";
import { scoreSequences } from "../../lib/train/learner/trainer.ts";
import { copyOf } from "../search/embed/golden.ts";
import { gpuDevice } from "./device.ts";

const base: DecoderShape = {
  vocabSize: 96,
  hiddenSize: 64,
  intermediateSize: 96,
  numLayers: 2,
  numHeads: 4,
  numKvHeads: 2,
  headDim: 64,
  maxPosition: 512,
};

/** One of each kind of layer that the kernels know. */
export const shapes: Readonly<Record<string, DecoderShape>> = {
  "biases and a tied head": { ...base, qkvBias: true, tieEmbeddings: true },
  "norms of heads, part of each turned": {
    ...base,
    vocabSize: 91,
    architecture: "Qwen3ForCausalLM",
    qkNorm: true,
    rotaryDim: 32,
  },
  // All are chosen: where two are nearly as likely, a GPU's roundings may choose another than the CPU's.
  "four experts, each weighed": {
    ...base,
    architecture: "Qwen3MoeForCausalLM",
    qkNorm: true,
    numExperts: 4,
    numChosenExperts: 4,
  },
  "Gemma's norms, bounds and windows": {
    ...base,
    architecture: "Gemma2ForCausalLM",
    headDim: 80,
    layerTypes: ["sliding", "full"],
    slidingWindow: 20,
    activation: "gelu",
    attentionSoftcap: 30,
    logitSoftcap: 20,
    embeddingScale: 8,
    normOffset: 1,
    postNorms: true,
    tieEmbeddings: true,
  },
};

/** The same weights on either device. libtorch must know of the emulated one before it first differentiates. */
export async function modelOn(
  device: string,
  shape: DecoderShape,
  weights?: QuantisedWeights,
  tensorParallel?: ProcessGroup,
): Promise<Model> {
  await native().setNumThreads(1);
  await (await Model.create({ ...base, numLayers: 1 }, { device: gpuDevice, dtype: "bfloat16" })).close();
  return Model.create(shape, { device, dtype: "bfloat16", seed: 3, std: 0.08, weights, tensorParallel });
}

/** Ids that every shape here knows. */
export const ids = (length: number, salt: number): Int32Array =>
  Int32Array.from({ length }, (_, i) => (i * 37 + salt * 11 + 5) % 91);

/** What training scores the tokens of a span with, that followed a prompt (law 4: with what they were drawn with). */
export async function scoresOf(
  policy: Policy,
  prompt: Int32Array,
  drawn: Int32Array,
  temperature = 1,
): Promise<Float32Array> {
  const tokens = Int32Array.of(...prompt, ...drawn);
  const rows = Int32Array.from(drawn, (_, i) => prompt.length - 1 + i);
  const { logprobs } = await scoreSequences(policy, [{ tokens, rows }], { temperature });
  return logprobs[0]!;
}

/** The root of the sum of squares of a - b, to that of a. */
export function relativeDifference(a: ArrayLike<number>, b: ArrayLike<number>): number {
  let [difference, size] = [0, 0];
  for (let i = 0; i < Math.max(a.length, b.length); i += 1) {
    difference += ((a[i] ?? Number.NaN) - (b[i] ?? Number.NaN)) ** 2;
    size += (a[i] ?? Number.NaN) ** 2;
  }
  return Math.sqrt(difference / size);
}

/** A golden folder whose heads are joined into one of a width that the kernels have. */
export async function wideHeaded(name: string): Promise<string> {
  const folder = await copyOf(name);
  const path = join(folder, "config.json");
  const config = JSON.parse(await readFile(path, "utf8")) as object;
  await writeFile(path, JSON.stringify({ ...config, num_attention_heads: 1 }));
  return folder;
}

export function cosine(a: Float32Array, b: Float32Array): number {
  let [ab, aa, bb] = [0, 0, 0];
  for (let i = 0; i < a.length; i += 1) [ab, aa, bb] = [ab + a[i]! * b[i]!, aa + a[i]! ** 2, bb + b[i]! ** 2];
  return ab / Math.sqrt(aa * bb);
}
