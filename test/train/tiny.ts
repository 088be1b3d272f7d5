/** A model small enough for tests and sequences to train it on. */
import { native } from "../../lib/base/addon/native.ts";
import type { ProcessGroup } from "../../lib/comm/process-group.ts";
import { Model } from "../../lib/model/model.ts";
import type { TrainSequence } from "../../lib/train/batch/packing.ts";

export const tinyVocab = 40;

export const tinyShape = {
  vocabSize: tinyVocab,
  hiddenSize: 16,
  intermediateSize: 24,
  numLayers: 2,
  numHeads: 4,
  numKvHeads: 2,
  maxPosition: 128,
  qkvBias: true,
  tieEmbeddings: true,
};

/** Two layers, width 16. One thread: the tests of many files run at the same time. */
export async function tinyModel(
  seed = 1,
  dtype: Model["dtype"] = "float32",
  tensorParallel?: ProcessGroup,
): Promise<Model> {
  await native().setNumThreads(1);
  return await Model.create(tinyShape, { seed, std: 0.2, dtype, tensorParallel });
}

/** Numbers in [0, 1) that depend on nothing but the arguments. */
export function noise(seed: number, index: number): number {
  const x = Math.sin(seed * 127.1 + index * 311.7) * 43758.5453;
  return x - Math.floor(x);
}

export function filled(length: number, value: (index: number) => number): Float32Array {
  return Float32Array.from({ length }, (_, i) => value(i));
}

/** A sequence of `length` tokens whose last two thirds are policy tokens but for every fifth, an observation. */
export function tinySequence(seed: number, length: number): TrainSequence {
  const tokens = Int32Array.from({ length }, (_, t) => Math.floor(noise(seed, t) * tinyVocab));
  const rows: number[] = [];
  for (let t = Math.floor(length / 3); t < length - 1; t += 1) if (t % 5 !== 0) rows.push(t);
  return { tokens, rows: Int32Array.from(rows) };
}

export function maxDifference(a: Float32Array, b: Float32Array): number {
  if (a.length !== b.length) return Number.POSITIVE_INFINITY;
  return a.reduce((most, value, i) => Math.max(most, Math.abs(value - b[i]!)), 0);
}
