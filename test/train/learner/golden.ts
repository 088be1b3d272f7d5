/** Reads the fixtures of test/golden/train, which make_golden.py there wrote. */
import { readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { native } from "../../../lib/base/addon/native.ts";
import { Model } from "../../../lib/model/model.ts";
import { readSafetensorsHeader } from "../../../lib/model/safetensors.ts";
import type { TrainSequence } from "../../../lib/train/batch/packing.ts";
import type { LossOptions } from "../../../lib/train/learner/trainer.ts";
import { projectRoot } from "../../project.ts";

export const goldenFolder = join(projectRoot, "test", "golden", "train");

/** A loss and what the reference makes of it. */
export interface GoldenLoss {
  readonly options: LossOptions;
  readonly loss: number;
  readonly logprobs: readonly (readonly number[])[];
  readonly entropies: readonly (readonly number[])[];
}

interface LossFile {
  readonly sequences: readonly Record<string, number[]>[];
  readonly models: Record<string, Record<string, GoldenLoss>> & {
    readonly critic: { readonly loss: number; readonly values: readonly (readonly number[])[] };
  };
}

export function readJson<T>(name: string): T {
  return JSON.parse(readFileSync(join(goldenFolder, name), "utf8")) as T;
}

const file = readJson<LossFile>("losses.json");

export const goldenCritic = file.models.critic;

export const goldenModels = ["qwen2", "qwen3", "llama"].map((name) => ({
  name,
  losses: file.models[name] as Record<string, GoldenLoss>,
}));

export const goldenSequences: readonly TrainSequence[] = file.sequences.map((sequence) => {
  const { tokens, rows, ...floats } = sequence;
  const arrays = Object.entries(floats).map(([name, values]) => [name, Float32Array.from(values)] as const);
  return { tokens: Int32Array.from(tokens!), rows: Int32Array.from(rows!), ...Object.fromEntries(arrays) };
});

export async function goldenModel(name: string): Promise<Model> {
  await native().setNumThreads(1);
  return Model.load(join(goldenFolder, name));
}

/** All tensors of an f32 safetensors file. */
export async function readTensors(path: string): Promise<Map<string, Float32Array>> {
  const bytes = await readFile(path);
  const header = await readSafetensorsHeader(path);
  return new Map(
    header.map(({ name, shape, offset }) => {
      const count = shape.reduce((product, size) => product * size, 1);
      const start = bytes.byteOffset + offset;
      return [name, new Float32Array(bytes.buffer.slice(start, start + 4 * count))] as const;
    }),
  );
}
