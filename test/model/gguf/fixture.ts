/** Writes GGUF files in the layout of llama.cpp's converter (convert_hf_to_gguf.py), for the tests of our reader. */
import { writeFile } from "node:fs/promises";
import type { GgufValue } from "../../../lib/base/gguf/gguf-cursor.ts";
import type { Model } from "../../../lib/model/model.ts";

/** A tensor to be written, row-major. */
export interface WrittenTensor {
  readonly name: string;
  readonly shape: readonly number[];
  /** A name, or a number of a type that is not read. */
  readonly type: string;
  readonly bytes: Uint8Array;
}

/** As ggml.h counts them. */
const typeNumbers: Readonly<Record<string, number>> = {
  ...{ F32: 0, F16: 1, Q4_0: 2, Q4_1: 3, Q5_0: 6, Q5_1: 7, Q8_0: 8, Q2_K: 10, Q3_K: 11, Q4_K: 12, Q5_K: 13 },
  ...{ Q6_K: 14, IQ4_NL: 20, IQ4_XS: 23, BF16: 30, MXFP4: 39 },
};

function u32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}

function u64(value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(BigInt(value));
  return bytes;
}

function text(value: string): Buffer {
  const bytes = Buffer.from(value);
  return Buffer.concat([u64(bytes.length), bytes]);
}

/** Type and value: whole numbers as u32 or i32, others as f32. */
function typed(value: GgufValue): [number, Buffer] {
  if (typeof value === "string") return [8, text(value)];
  if (typeof value === "boolean") return [7, Buffer.of(value ? 1 : 0)];
  if (typeof value !== "number") {
    const isFloat = value.some((each) => typeof each === "number" && !Number.isInteger(each));
    const entries = value.map((each) => (isFloat ? ([6, f32(each as number)] as const) : typed(each)));
    const type = entries[0]?.[0] ?? 4;
    return [9, Buffer.concat([u32(type), u64(value.length), ...entries.map(([, bytes]) => bytes)])];
  }
  if (!Number.isInteger(value)) return [6, f32(value)];
  return value < 0 ? [5, u32(value + 2 ** 32)] : [4, u32(value)];
}

function f32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeFloatLE(value);
  return bytes;
}

const alignment = 32;
const padding = (size: number): Buffer => Buffer.alloc((alignment - (size % alignment)) % alignment);

/** The bytes of a GGUF file. */
export function ggufBytes(
  metadata: Readonly<Record<string, GgufValue>>,
  tensors: readonly WrittenTensor[],
): Buffer {
  const head = [u32(0x46554747), u32(3), u64(tensors.length), u64(Object.keys(metadata).length)];
  for (const [key, value] of Object.entries(metadata)) {
    const [type, bytes] = typed(value);
    head.push(text(key), u32(type), bytes);
  }
  let offset = 0;
  const data: Uint8Array[] = [];
  for (const { name, shape, type, bytes } of tensors) {
    head.push(text(name), u32(shape.length), ...[...shape].reverse().map(u64));
    head.push(u32(typeNumbers[type] ?? Number(type)), u64(offset));
    data.push(bytes, padding(bytes.length));
    offset += bytes.length + padding(bytes.length).length;
  }
  const header = Buffer.concat(head);
  return Buffer.concat([header, padding(header.length), ...data]);
}

/** f16 of a number, rounded to even. */
export function toHalf(value: number): number {
  const sign = value < 0 || Object.is(value, -0) ? 0x8000 : 0;
  const size = Math.abs(value);
  if (size === 0) return sign;
  const exponent = Math.max(-14, Math.floor(Math.log2(size)));
  const scaled = size / 2 ** (exponent - 10);
  const floor = Math.floor(scaled);
  const rest = scaled - floor;
  const rounded = floor + (rest > 0.5 || (rest === 0.5 && floor % 2 === 1) ? 1 : 0);
  return sign | (rounded + (exponent + 14) * 1024);
}

const fromHalf = (bits: number): number => {
  const exponent = (bits >> 10) & 31;
  const fraction = bits & 1023;
  const size = exponent === 0 ? fraction * 2 ** -24 : (1024 + fraction) * 2 ** (exponent - 25);
  return bits & 0x8000 ? -size : size;
};

function shorts(values: readonly number[]): Uint8Array {
  return new Uint8Array(Uint16Array.from(values).buffer);
}

/** Blocks of 32 under one f16 scale. */
function blocks(values: Float32Array, encode: (block: Float32Array) => number[]): Uint8Array {
  const bytes: number[] = [];
  for (let i = 0; i < values.length; i += 32) bytes.push(...encode(values.subarray(i, i + 32)));
  return Uint8Array.from(bytes);
}

function q8(block: Float32Array): number[] {
  const bits = toHalf(Math.max(...block.map(Math.abs)) / 127);
  const scale = fromHalf(bits) || 1;
  const codes = [...block].map((value) => Math.max(-127, Math.min(127, Math.round(value / scale))) & 255);
  return [bits & 255, bits >> 8, ...codes];
}

function q4(block: Float32Array): number[] {
  const largest = [...block].reduce((most, value) => (Math.abs(value) > Math.abs(most) ? value : most), 0);
  const bits = toHalf(largest / -8);
  const scale = fromHalf(bits) || 1;
  const codes = [...block].map((value) => Math.max(0, Math.min(15, Math.round(value / scale + 8))));
  const pairs = Array.from({ length: 16 }, (_, j) => (codes[j] ?? 0) | ((codes[j + 16] ?? 0) << 4));
  return [bits & 255, bits >> 8, ...pairs];
}

function encode(values: Float32Array, type: string): Uint8Array {
  const bits = new Uint32Array(values.buffer, values.byteOffset, values.length);
  if (type === "F16") return shorts([...values].map(toHalf));
  if (type === "BF16") return shorts([...bits].map((each) => (each + 0x7fff + ((each >>> 16) & 1)) >>> 16));
  if (type === "Q8_0") return blocks(values, q8);
  if (type === "Q4_0") return blocks(values, q4);
  return new Uint8Array(values.slice().buffer);
}

/** Rows p and p + C / 2 of a head become rows 2 p and 2 p + 1, as the converter permutes the llama architecture. */
function paired(values: Float32Array, headDim: number, columns: number): Float32Array {
  const to = new Float32Array(values.length);
  for (let row = 0; row < values.length / columns; row++) {
    const place = row % headDim;
    const from = row - place + (place % 2) * (headDim / 2) + Math.floor(place / 2);
    to.set(values.subarray(from * columns, (from + 1) * columns), row * columns);
  }
  return to;
}

const layerNames: Readonly<Record<string, string>> = {
  input_layernorm: "attn_norm",
  "self_attn.q_proj": "attn_q",
  "self_attn.k_proj": "attn_k",
  "self_attn.v_proj": "attn_v",
  "self_attn.o_proj": "attn_output",
  "self_attn.q_norm": "attn_q_norm",
  "self_attn.k_norm": "attn_k_norm",
  post_attention_layernorm: "ffn_norm",
  "mlp.gate_proj": "ffn_gate",
  "mlp.up_proj": "ffn_up",
  "mlp.down_proj": "ffn_down",
};
const outerNames: Readonly<Record<string, string>> = {
  "model.embed_tokens.weight": "token_embd.weight",
  "model.norm.weight": "output_norm.weight",
  "lm_head.weight": "output.weight",
};

function ggufName(name: string): string {
  const [, layer, part = "", end] = /^model\.layers\.(\d+)\.(.+)\.(weight|bias)$/.exec(name) ?? [];
  return layer === undefined ? (outerNames[name] ?? name) : `blk.${layer}.${layerNames[part]}.${end}`;
}

const architectures: Readonly<Record<string, string>> = {
  LlamaForCausalLM: "llama",
  Qwen2ForCausalLM: "qwen2",
  Qwen3ForCausalLM: "qwen3",
};

/** What Llama 3's rule divides each frequency by, as the converter writes it. */
function llama3Divisors({ config }: Model): Float32Array | undefined {
  const { ropeScaling: rope, ropeTheta, headDim } = config;
  if (rope.kind !== "llama3") return undefined;
  const { factor, lowFreqFactor: low, highFreqFactor: high, originalMaxPosition } = rope;
  return Float32Array.from({ length: headDim / 2 }, (_, f) => {
    const turns = (originalMaxPosition * ropeTheta ** ((-2 * f) / headDim)) / (2 * Math.PI);
    if (turns < low) return factor;
    if (turns > high) return 1;
    const kept = (turns - low) / (high - low);
    return 1 / ((1 - kept) / factor + kept);
  });
}

function metadataOf({ config }: Model): Record<string, GgufValue> {
  const name = architectures[config.architecture] ?? "";
  return {
    "general.architecture": name,
    [`${name}.context_length`]: config.maxPosition,
    [`${name}.embedding_length`]: config.hiddenSize,
    [`${name}.block_count`]: config.numLayers,
    [`${name}.feed_forward_length`]: config.intermediateSize,
    [`${name}.attention.head_count`]: config.numHeads,
    [`${name}.attention.head_count_kv`]: config.numKvHeads,
    [`${name}.attention.key_length`]: config.headDim,
    [`${name}.attention.value_length`]: config.headDim,
    [`${name}.attention.layer_norm_rms_epsilon`]: config.rmsNormEps,
    [`${name}.rope.freq_base`]: config.ropeTheta,
    [`${name}.rope.dimension_count`]: config.headDim,
  };
}

/** A byte of ASCII as GPT-2's vocabularies write it. */
export const byteLetter = (byte: number): string =>
  String.fromCodePoint(byte > 32 && byte < 127 ? byte : 256 + byte);

/**
 * A model folder as a GGUF file: matrices as `type` where their rows are whole blocks and f32 where not, vectors as f32.
 *
 * @param tokenizer the `tokenizer.*` keys
 */
export async function writeGguf(
  path: string,
  model: Model,
  { type, tokenizer = {} }: { type: string; tokenizer?: Readonly<Record<string, GgufValue>> },
): Promise<void> {
  const { architecture, headDim } = model.config;
  const tensors: WrittenTensor[] = [];
  for (const { name, shape } of model.handle.tensors()) {
    const columns = shape.length === 2 ? (shape[1] ?? 1) : 1;
    const isPaired = architecture === "LlamaForCausalLM" && /self_attn\.[qk]_proj/.test(name);
    const values = await model.parameter(name);
    const ordered = isPaired ? paired(values, headDim, columns) : values;
    const isBlocks = type.startsWith("Q");
    const own = shape.length === 2 && (!isBlocks || columns % 32 === 0) ? type : "F32";
    tensors.push({ name: ggufName(name), shape, type: own, bytes: encode(ordered, own) });
  }
  const divisors = llama3Divisors(model);
  if (divisors !== undefined) {
    const bytes = new Uint8Array(divisors.buffer);
    tensors.push({ name: "rope_freqs.weight", shape: [divisors.length], type: "F32", bytes });
  }
  await writeFile(path, ggufBytes({ ...metadataOf(model), ...tokenizer }, tensors));
}
