/** Projections that transformers keeps in one tensor and the decoder apart: split where they are read, joined where they are written. */
import type { NativeStoredTensor } from "../base/addon/models.ts";
import { SeekError } from "../base/errors.ts";
import type { DecoderConfig } from "./config/config.ts";
import { families } from "./config/families.ts";
import type { NamedShape } from "./safetensors.ts";

/** A tensor as it is stored: the decoder's parameters whose rows follow one another in it. */
export interface StoredEntry extends NamedShape {
  readonly parts: readonly string[];
}

/** Modules, by the ends of their names. */
interface Fusion {
  readonly whole: string;
  /** In the order of their rows. */
  readonly parts: readonly { readonly name: string; readonly rows: number }[];
}

function fusionsOf(config: DecoderConfig): readonly Fusion[] {
  if (families[config.architecture].isFused !== true) return [];
  const { numHeads, numKvHeads, headDim, intermediateSize: rows } = config;
  const keyRows = numKvHeads * headDim;
  return [
    {
      whole: "self_attn.qkv_proj",
      parts: [
        { name: "self_attn.q_proj", rows: numHeads * headDim },
        { name: "self_attn.k_proj", rows: keyRows },
        { name: "self_attn.v_proj", rows: keyRows },
      ],
    },
    {
      whole: "mlp.gate_up_proj",
      parts: [
        { name: "mlp.gate_proj", rows },
        { name: "mlp.up_proj", rows },
      ],
    },
  ];
}

const bytesOf: Readonly<Record<string, number>> = { F32: 4, F16: 2, BF16: 2 };

const weightEnd = ".weight";
/** A LoRA pair's ends: what all parts share, and the rows of each (peft). */
const [downEnd, upEnd] = [".lora_A.weight", ".lora_B.weight"];

function fusionOf(name: string, fusions: readonly Fusion[], end: string): Fusion | undefined {
  return fusions.find(({ whole }) => name.endsWith(`.${whole}${end}`));
}

function split(tensor: NativeStoredTensor, { whole, parts }: Fusion, end: string): NativeStoredTensor[] {
  const [rows, columns = 1] = tensor.shape;
  const expected = parts.reduce((sum, part) => sum + part.rows, 0);
  if (tensor.shape.length !== 2 || rows !== expected) {
    throw new SeekError(
      "ERR_FORMAT",
      `${tensor.path}: ${tensor.name}: expected ${expected} rows, got shape ${tensor.shape}`,
    );
  }
  const prefix = tensor.name.slice(0, -(whole + end).length);
  const rowBytes = columns * (bytesOf[tensor.dtype] ?? 0);
  let { offset } = tensor;
  return parts.map((part) => {
    const piece = { ...tensor, name: prefix + part.name + end, shape: [part.rows, columns], offset };
    offset += part.rows * rowBytes;
    return piece;
  });
}

/**
 * The decoder's tensors among those of a model folder.
 *
 * @param tensors what the folder holds
 * @param config the decoder's shape
 * @returns the same, a fused tensor as its parts
 * @throws ERR_FORMAT for a fused tensor of other sizes
 */
export function splitFused(
  tensors: readonly NativeStoredTensor[],
  config: DecoderConfig,
): NativeStoredTensor[] {
  const fusions = fusionsOf(config);
  return tensors.flatMap((tensor) => {
    const fusion = fusionOf(tensor.name, fusions, weightEnd);
    return fusion === undefined ? [tensor] : split(tensor, fusion, weightEnd);
  });
}

/**
 * The decoder's tensors among those of a folder of peft: each part of a fused module has the whole's A and its own rows
 * of B.
 *
 * @param tensors what the folder holds
 * @param config the decoder's shape
 * @returns the same, a fused module's pair as a pair of each part
 * @throws ERR_FORMAT for a fused tensor of other sizes
 */
export function splitFusedPairs(
  tensors: readonly NativeStoredTensor[],
  config: DecoderConfig,
): NativeStoredTensor[] {
  const fusions = fusionsOf(config);
  return tensors.flatMap((tensor) => {
    const up = fusionOf(tensor.name, fusions, upEnd);
    if (up !== undefined) return split(tensor, up, upEnd);
    const down = fusionOf(tensor.name, fusions, downEnd);
    if (down === undefined) return [tensor];
    const prefix = tensor.name.slice(0, -(down.whole + downEnd).length);
    return down.parts.map(({ name }) => ({ ...tensor, name: prefix + name + downEnd }));
  });
}

/** The names that a projection's module has: its own, and that of the fused one whose part it is. */
export function moduleNames(projection: string, config: DecoderConfig): string[] {
  for (const { whole, parts } of fusionsOf(config)) {
    const part = parts.find(({ name }) => projection.endsWith(`.${name}`));
    if (part !== undefined) return [projection, projection.slice(0, -part.name.length) + whole];
  }
  return [projection];
}

/**
 * Whether peft finds a module of its own for each projection of an adapter: not for the parts of a fused one, nor for
 * experts, which transformers 5 keeps in one parameter.
 *
 * @param names an adapter's tensors
 * @param config the decoder's shape
 */
export function areModules(names: readonly string[], config: DecoderConfig): boolean {
  const parts = fusionsOf(config).flatMap((fusion) => fusion.parts.map(({ name }) => `.${name}.`));
  return !names.some((name) => [...parts, ".experts."].some((part) => name.includes(part)));
}

/**
 * What is stored of the decoder's tensors.
 *
 * @param tensors the decoder's, in its order
 * @param config the decoder's shape
 * @returns the tensors of the file, in the same order
 */
export function joinFused(tensors: readonly NamedShape[], config: DecoderConfig): StoredEntry[] {
  const fusions = fusionsOf(config);
  const entries: StoredEntry[] = [];
  for (let i = 0; i < tensors.length; ) {
    const tensor = tensors[i] as NamedShape;
    const { name, shape } = tensor;
    const fusion = fusions.find(({ parts }) => name.endsWith(`.${parts[0]?.name}${weightEnd}`));
    const count = fusion?.parts.length ?? 1;
    const parts = tensors.slice(i, i + count).map((tensor) => tensor.name);
    const rows = fusion?.parts.reduce((sum, part) => sum + part.rows, 0);
    const first = `${fusion?.parts[0]?.name}${weightEnd}`;
    const whole = fusion && name.slice(0, -first.length) + fusion.whole + weightEnd;
    entries.push({
      ...tensor,
      name: whole ?? name,
      shape: rows === undefined ? shape : [rows, ...shape.slice(1)],
      parts,
    });
    i += count;
  }
  return entries;
}
