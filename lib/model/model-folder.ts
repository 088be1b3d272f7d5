/** What a model is read from: a Hugging Face folder of config.json and safetensors files, or a GGUF file. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { NativeStoredTensor } from "../base/addon/models.ts";
import { SeekError } from "../base/errors.ts";
import { readText } from "../base/files/regular-file.ts";
import { isGguf } from "../base/gguf/gguf.ts";
import { lazySchema } from "../base/on-first-use.ts";
import { readGgufModel } from "./gguf/gguf-model.ts";
import { readSafetensorsHeader } from "./safetensors.ts";

/** The name of a folder's only weights file. */
export const weightsFile = "model.safetensors";
/** The stored form of weights. */
export type StoredDtype = "float32" | "bfloat16" | "float16";

const storedForms: ReadonlyMap<string, StoredDtype> = new Map([
  ["F32", "float32"],
  ["BF16", "bfloat16"],
  ["F16", "float16"],
]);

/** The list of shards, where there are several. */
export const indexFile = `${weightsFile}.index.json`;

/**
 * Reads a JSON file of a model folder.
 *
 * @param path the file
 * @returns its parsed content
 * @throws ERR_IO when it cannot be read, ERR_FORMAT when it is not JSON
 */
export async function readJson(path: string): Promise<unknown> {
  const text = await readText(path);
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new SeekError("ERR_FORMAT", `${path}: expected JSON: ${(cause as Error).message}`, { cause });
  }
}

// A shard's name stays in the folder: an index from elsewhere must not name other files.
const shardName = lazySchema((z) => z.string().regex(/^[^/\\]+\.safetensors$/));
const shardIndex = lazySchema((z) => z.object({ weight_map: z.record(z.string(), shardName()) }));

async function readShards(folder: string): Promise<NativeStoredTensor[]> {
  const path = join(folder, indexFile);
  const parsed = shardIndex().safeParse(await readJson(path));
  if (!parsed.success) {
    throw new SeekError("ERR_FORMAT", `${path}: weight_map: expected file names by tensor name`);
  }
  const fileOf = new Map(Object.entries(parsed.data.weight_map));
  const tensors: NativeStoredTensor[] = [];
  for (const file of new Set(fileOf.values())) {
    for (const tensor of await readSafetensorsHeader(join(folder, file))) {
      if (fileOf.get(tensor.name) !== file) {
        throw new SeekError(
          "ERR_FORMAT",
          `${path}: ${tensor.name} stands in ${file}, which the index does not say`,
        );
      }
      tensors.push(tensor);
    }
  }
  return tensors;
}

/**
 * Finds every tensor of a model folder, in one file or in shards.
 *
 * @param folder the model folder
 * @returns the tensors with their places
 * @throws ERR_IO when there are no weights; ERR_FORMAT when a file is not what it should be
 * @example
 * const tensors = await findWeights("models/qwen2.5-0.5b");
 */
export async function findWeights(folder: string): Promise<NativeStoredTensor[]> {
  const single = join(folder, weightsFile);
  if (existsSync(single)) return readSafetensorsHeader(single);
  if (existsSync(join(folder, indexFile))) return readShards(folder);
  throw new SeekError("ERR_IO", `${folder}: holds neither ${weightsFile} nor ${indexFile}`);
}

/**
 * The form in which a model's weights are stored.
 *
 * @param stored what {@link findWeights} or {@link readModel} found
 * @returns undefined where weights have several forms, or blocks of codes
 * @example
 * const dtype = storedDtypeOf(await findWeights("models/qwen2.5-0.5b"));
 */
export function storedDtypeOf(stored: readonly NativeStoredTensor[]): StoredDtype | undefined {
  const weights = stored.filter(({ name }) => /\.(weight|bias)$/.test(name));
  const forms = new Set(weights.map(({ dtype }) => dtype));
  const [form] = forms;
  return forms.size === 1 ? storedForms.get(form ?? "") : undefined;
}

/** A configuration, where it stands, and the stored tensors. */
interface ModelFiles {
  /** Named in errors. */
  readonly path: string;
  /** config.json's content. */
  readonly json: unknown;
  readonly stored: readonly NativeStoredTensor[];
}

/**
 * Reads a model's configuration and finds its tensors.
 *
 * @param folder the model folder, or a GGUF file
 * @throws ERR_IO when a file cannot be read; ERR_FORMAT when one is malformed
 */
export async function readModel(folder: string): Promise<ModelFiles> {
  if (isGguf(folder)) {
    const { config, tensors } = await readGgufModel(folder);
    return { path: folder, json: config, stored: tensors };
  }
  const path = join(folder, "config.json");
  return { path, json: await readJson(path), stored: await findWeights(folder) };
}
