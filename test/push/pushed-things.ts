/** Folders to push, as small as they can be: a model, an adapter, a run, a file of results. */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { peftConfigText } from "../../lib/model/peft-config.ts";
import { writeRecord } from "../../lib/train/run/run-record.ts";

/** A file of one tensor, as safetensors lays it out. */
export function tensorFile(name: string, numValues: number): Buffer {
  const tensors = { [name]: { dtype: "F32", shape: [numValues], data_offsets: [0, numValues * 4] } };
  const header = Buffer.from(JSON.stringify(tensors));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(header.length));
  const values = Float32Array.from({ length: numValues }, (_, i) => i / 7);
  return Buffer.concat([length, header, Buffer.from(values.buffer)]);
}

/** Files of a model. */
export const modelFiles = {
  "config.json": Buffer.from('{"architectures":["LlamaForCausalLM"]}'),
  "model.safetensors": tensorFile("model.norm.weight", 500_000),
  "tokenizer.json": Buffer.from("{}"),
} as const;

/** Writes files into a folder. */
export async function writeFiles(folder: string, files: Readonly<Record<string, Buffer | string>>) {
  await mkdir(folder, { recursive: true });
  for (const [name, content] of Object.entries(files)) await writeFile(join(folder, name), content);
  return folder;
}

/** Writes an adapter on the model of a name or a path. */
export function writeAdapter(folder: string, base: string, revision?: string): Promise<string> {
  const targets = ["q_proj"];
  const parts = { rank: 2, alpha: 4, targets, rankStabilised: false, dropout: 0, base, revision };
  return writeFiles(folder, {
    "adapter_config.json": peftConfigText(parts, { isForPeft: true }),
    "adapter_model.safetensors": tensorFile("base_model.model.q_proj.lora_A.weight", 10),
    "tokenizer.json": "{}",
  });
}

/** What a run was begun with, besides its folder. */
export const config = {
  ...{ model: `hf://acme/base@${"b".repeat(40)}`, out: "/home/me/runs/a", seed: 3, steps: 4 },
  ...{ batchQuestions: 8, samples: 5, learningRate: 0.00001, temperature: 1 },
  recipe: { name: "search-r1", algorithm: "grpo", formatReward: false, faithful: false },
  algorithm: { advantage: "grpo", entropyCoef: 0.001, kl: { in: "loss", estimator: "k3", coef: 0.5 } },
  limits: { maxTurns: 4 },
};

/** Writes a run, with its final model, that has done some of its steps. */
export async function writeRun(folder: string, more: object = {}, step = 4): Promise<string> {
  const rows = [
    { step: 2, "reward/mean": 0.25, "eval/em": 0.25, "eval/f1": 0.375 },
    { step: 3, "reward/mean": 0.375 },
    { step, "reward/mean": 0.5, "eval/em": 0.5, "eval/f1": 0.625 },
  ];
  await writeFiles(join(folder, "model"), modelFiles);
  await writeFiles(folder, {
    "metrics.jsonl": rows.map((row) => `${JSON.stringify(row)}\n`).join(""),
    "trajectories.jsonl": "",
  });
  await writeRecord(folder, { ...config, ...more }, undefined);
  return folder;
}

/** Lines of a file of results: a set, and whether each of its questions was answered rightly. */
export function resultLines(set: string, ems: readonly number[]): string {
  const line = (em: number, index: number): string =>
    JSON.stringify({
      ...{ set, index, id: `q${index}`, question: `who ${index}?`, answers: ["a"], answer: "a" },
      ...{ em, f1: em, acc: em, precision: em, recall: em, judge: null, rounds: 1, stop: "answer" },
      ...{ retrievalRecall: null, retrievalPrecision: null, generatedTokens: 3, observedTokens: 2 },
      ...{ seconds: 1, segments: [] },
    });
  return ems.map((em, i) => `${line(em, i)}\n`).join("");
}
