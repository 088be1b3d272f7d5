/** Weights that Phi-3 keeps in one tensor and the decoder apart: split where they are read, joined where they are written. */
import type { NativeStoredTensor } from "../base/addon/models.ts";
import { SeekError } from "../base/errors.ts";
import type { DecoderConfig } from "./config/config.ts";
import type { NamedShape } from "./safetensors.ts";

/** A tensor as it is stored: the decoder's parameters whose rows follow one another in it. */
export interface StoredEntry extends NamedShape {
  readonly parts: readonly string[];
}

interface Fusion {
  readonly whole: string;
  /** In the order of their rows. */
  readonly parts: readonly { readonly name: string; readonly rows: number }[];
}

function fusionsOf(config: DecoderConfig): readonly Fusion[] {
  if (config.architecture !== "Phi3ForCausalLM") return [];
  const { numHeads, numKvHeads, headDim, intermediateSize: rows } = config;
  const keyRows = numKvHeads * headDim;
  return [
    {
      whole: "self_attn.qkv_proj.weight",
      parts: [
        { name: "self_attn.q_proj.weight", rows: numHeads * headDim },
        { name: "self_attn.k_proj.weight", rows: keyRows },
        { name: "self_attn.v_proj.weight", rows: keyRows },
      ],
    },
    {
      whole: "mlp.gate_up_proj.weight",
      parts: [
        { name: "mlp.gate_proj.weight", rows },
        { name: "mlp.up_proj.weight", rows },
      ],
    },
  ];
}

const bytesOf: Readonly<Record<string, number>> = { F32: 4, F16: 2, BF16: 2 };

function split(tensor: NativeStoredTensor, { whole, parts }: Fusion): NativeStoredTensor[] {
  const [rows, columns = 1] = tensor.shape;
  const expected = parts.reduce((sum, part) => sum + part.rows, 0);
  if (tensor.shape.length !== 2 || rows !== expected) {
    throw new SeekError(
      "ERR_FORMAT",
      `${tensor.path}: ${tensor.name}: expected ${expected} rows, got shape ${tensor.shape}`,
    );
  }
  const prefix = tensor.name.slice(0, -whole.length);
  const rowBytes = columns * (bytesOf[tensor.dtype] ?? 0);
  let { offset } = tensor;
  return parts.map((part) => {
    const piece = { ...tensor, name: prefix + part.name, shape: [part.rows, columns], offset };
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
    const fusion = fusions.find(({ whole }) => tensor.name.endsWith(`.${whole}`));
    return fusion === undefined ? [tensor] : split(tensor, fusion);
  });
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
    const fusion = fusions.find(({ parts }) => name.endsWith(`.${parts[0]?.name}`));
    const count = fusion?.parts.length ?? 1;
    const parts = tensors.slice(i, i + count).map((tensor) => tensor.name);
    const rows = fusion?.parts.reduce((sum, part) => sum + part.rows, 0);
    const whole = fusion && name.slice(0, -(fusion.parts[0]?.name.length ?? 0)) + fusion.whole;
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
