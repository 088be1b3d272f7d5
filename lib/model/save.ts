/** Writes a model folder that Hugging Face's libraries and SeekRL both read. */
import { join } from "node:path";
import type { OptionKinds } from "../base/check-options.ts";
import { writeFileAtomic } from "../base/files/files.ts";
import { replaceFiles } from "../base/files/replace-files.ts";
import type { StoredEntry } from "./fused.ts";
import { indexFile, type StoredDtype, weightsFile } from "./model-folder.ts";
import { safetensorsHeader, storedBytes } from "./safetensors.ts";

/** How a model is written. */
export interface SaveOptions {
  /** Stored form; not of quantised weights, which are written as they are. @default the model's own */
  readonly dtype?: StoredDtype;
  /** Most bytes of one weights file. @default 5e9 */
  readonly maxShardBytes?: number;
}

/** What each of {@link SaveOptions} is. */
export const saveKinds: OptionKinds<SaveOptions> = {
  dtype: ["float32", "bfloat16", "float16"],
  maxShardBytes: "number",
};

const spelling = { float32: "F32", bfloat16: "BF16", float16: "F16" } as const;

interface Shard {
  readonly tensors: StoredEntry[];
  bytes: number;
}

/** Consecutive tensors, each shard at most `maxBytes` unless one tensor alone is more. */
function cutIntoShards(tensors: readonly StoredEntry[], dtype: StoredDtype, maxBytes: number): Shard[] {
  const shards: Shard[] = [];
  for (const tensor of tensors) {
    const bytes = storedBytes(tensor, spelling[dtype]);
    let shard = shards.at(-1);
    if (shard === undefined || shard.bytes + bytes > maxBytes) {
      shard = { tensors: [], bytes: 0 };
      shards.push(shard);
    }
    shard.tensors.push(tensor);
    shard.bytes += bytes;
  }
  return shards;
}

function shardNames(count: number): string[] {
  if (count === 1) return [weightsFile];
  const pad = (value: number): string => String(value).padStart(5, "0");
  return Array.from({ length: count }, (_, i) => `model-${pad(i + 1)}-of-${pad(count)}.safetensors`);
}

async function writeIndex(folder: string, shards: readonly Shard[], names: readonly string[]): Promise<void> {
  const weightMap: Record<string, string> = {};
  for (const [i, shard] of shards.entries()) {
    for (const { name } of shard.tensors) weightMap[name] = names[i] ?? "";
  }
  const totalBytes = shards.reduce((sum, { bytes }) => sum + bytes, 0);
  const index = { metadata: { total_size: totalBytes }, weight_map: weightMap };
  await writeFileAtomic(join(folder, indexFile), `${JSON.stringify(index, null, 2)}\n`);
}

/** Weights of an earlier save. */
const weightsPattern = /^model(-\d{5}-of-\d{5})?\.safetensors(\.index\.json)?$/;

/** What is written of a model. */
interface SavedParts {
  readonly config: Record<string, unknown>;
  readonly tensors: readonly StoredEntry[];
  readonly dtype: StoredDtype;
  readonly maxShardBytes: number;
}

/**
 * Writes one file of weights: its header, then the named ones.
 *
 * @param path undefined where another rank writes the file, of weights that this one has a share of
 */
export type WriteWeights = (
  path: string | undefined,
  header: Uint8Array,
  names: readonly string[],
  dtype: string,
) => Promise<void>;

/**
 * Writes config.json and the weights, all of them or none.
 *
 * @param write writes a file of weights
 * @param folder made when missing; weights of an earlier save in it are replaced. Undefined where another rank has it
 * @param options what to write: `config` is config.json's content, `tensors` the weights as they are stored, `dtype`
 *   their form, `maxShardBytes` the most bytes of one weights file
 * @throws ERR_IO when the file system refuses
 */
export async function saveModel(
  write: WriteWeights,
  folder: string | undefined,
  options: SavedParts,
): Promise<void> {
  if (folder === undefined) return await writeParts(write, undefined, options);
  await replaceFiles(folder, {
    opener: "config.json",
    write: (staging) => writeParts(write, staging, options),
    isOld: (name) => weightsPattern.test(name),
  });
}

async function writeParts(
  write: WriteWeights,
  folder: string | undefined,
  options: SavedParts,
): Promise<void> {
  const { dtype } = options;
  const shards = cutIntoShards(options.tensors, dtype, options.maxShardBytes);
  const names = shardNames(shards.length);
  for (const [i, { tensors }] of shards.entries()) {
    const header = safetensorsHeader(tensors, spelling[dtype]);
    const path = folder && join(folder, names[i] ?? "");
    const tensorNames = tensors.flatMap(({ parts }) => parts);
    await write(path, header, tensorNames, spelling[dtype]);
  }
  if (folder === undefined) return;
  if (shards.length > 1) await writeIndex(folder, shards, names);
  const { dtype: _, ...rest } = options.config; // what newer releases of transformers call torch_dtype
  const content = { ...rest, torch_dtype: dtype };
  await writeFileAtomic(join(folder, "config.json"), `${JSON.stringify(content, null, 2)}\n`);
}
