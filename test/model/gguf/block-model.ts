/** Whole models as GGUF files whose matrices are made of blocks that ggml quantised, and the same numbers in F32. */
import { readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import type { GgufValue } from "../../../lib/base/gguf/gguf-cursor.ts";
import { projectRoot } from "../../project.ts";
import { ggufBytes, type WrittenTensor } from "./fixture.ts";
import { tinyMetadata } from "./tiny.ts";

/** Twelve rows of 256 numbers: six of weights, six of blocks with the extremes of a type. */
export interface GoldenRows {
  readonly blocks: Uint8Array;
  readonly numbers: Float32Array;
}

/** Numbers of a block, of those types that have more than one. */
const blockSizes: Readonly<Record<string, number>> = {
  ...{ Q4_0: 32, Q4_1: 32, Q5_0: 32, Q5_1: 32, Q8_0: 32, IQ4_NL: 32, MXFP4: 32 },
  ...{ Q2_K: 256, Q3_K: 256, Q4_K: 256, Q5_K: 256, Q6_K: 256, IQ4_XS: 256 },
};
export const blockSizeOf = (type: string): number => blockSizes[type] ?? 1;

/** By type, what test/golden/model/gguf/make.c wrote. */
export function goldenRows(): ReadonlyMap<string, GoldenRows> {
  const path = join(projectRoot, "test", "golden", "model", "gguf", "blocks.json.gz");
  const text = gunzipSync(readFileSync(path)).toString("utf8");
  const types = Object.entries(JSON.parse(text) as Record<string, { blocks: string; f32: string }>);
  return new Map(
    types.map(([type, { blocks, f32 }]) => {
      const numbers = new Float32Array(Uint8Array.from(Buffer.from(f32, "base64")).buffer);
      return [type, { blocks: Uint8Array.from(Buffer.from(blocks, "base64")), numbers }];
    }),
  );
}

export interface BlockModel {
  readonly hiddenSize: number;
  readonly feedForward: number;
  readonly isTied: boolean;
  /** Of a matrix, by GGUF's name; vectors are F32. */
  readonly typeOf: (name: string) => string;
}

const [vocabSize, numLayers, headDim] = [48, 2, 32];

type Shaped = readonly [name: string, rows: number, columns: number];

function shapesOf({ hiddenSize: width, feedForward, isTied }: BlockModel): Shaped[] {
  const layer: Shaped[] = [
    ["attn_q", width, width],
    ["attn_k", headDim, width],
    ["attn_v", headDim, width],
    ["attn_output", width, width],
    ["ffn_gate", feedForward, width],
    ["ffn_up", feedForward, width],
    ["ffn_down", width, feedForward],
  ];
  const layers = Array.from({ length: numLayers }, (_, i) =>
    layer.map(([name, rows, columns]): Shaped => [`blk.${i}.${name}.weight`, rows, columns]),
  );
  const head: Shaped[] = isTied ? [] : [["output.weight", vocabSize, width]];
  return [["token_embd.weight", vocabSize, width], ...layers.flat(), ...head];
}

/** A matrix of golden weights' blocks in an order of its own, in its type and in F32. */
function matrix(name: string, shape: readonly [number, number], type: string, golden: GoldenRows) {
  const size = blockSizeOf(type);
  const numBlocks = (shape[0] * shape[1]) / size;
  const numWeights = golden.numbers.length / size / 2;
  const numBytes = (golden.blocks.length / golden.numbers.length) * size;
  const bytes = new Uint8Array(numBlocks * numBytes);
  const numbers = new Float32Array(numBlocks * size);
  let state = [...name].reduce((sum, letter) => sum * 31 + (letter.codePointAt(0) ?? 0), 7) % 65_537;
  for (let i = 0; i < numBlocks; i++) {
    state = (state * 75 + 74) % 65_537;
    const from = state % numWeights;
    bytes.set(golden.blocks.subarray(from * numBytes, (from + 1) * numBytes), i * numBytes);
    numbers.set(golden.numbers.subarray(from * size, (from + 1) * size), i * size);
  }
  return { own: { name, shape, type, bytes }, plain: { name, shape, type: "F32", bytes: bytesOf(numbers) } };
}

const bytesOf = (numbers: Float32Array): Uint8Array => new Uint8Array(numbers.buffer);

/** Writes a llama of golden weights: its matrices in their types and, into another file, in F32. */
export async function writeBlockModel(
  paths: { readonly own: string; readonly plain?: string },
  model: BlockModel,
  metadata: Readonly<Record<string, GgufValue>> = {},
): Promise<void> {
  const golden = goldenRows();
  const matrices = shapesOf(model).map(([name, ...shape]) => {
    const type = model.typeOf(name);
    const rows = golden.get(type);
    if (rows === undefined) throw new Error(`no golden rows of ${type}`);
    return matrix(name, shape, type, rows);
  });
  const norms = ["output_norm", "blk.0.attn_norm", "blk.0.ffn_norm", "blk.1.attn_norm", "blk.1.ffn_norm"];
  const vectors = norms.map((name): WrittenTensor => {
    const ones = new Float32Array(model.hiddenSize).fill(1);
    return { name: `${name}.weight`, shape: [model.hiddenSize], type: "F32", bytes: bytesOf(ones) };
  });
  const header = {
    ...tinyMetadata,
    "llama.embedding_length": model.hiddenSize,
    "llama.block_count": numLayers,
    "llama.feed_forward_length": model.feedForward,
    "llama.attention.head_count": model.hiddenSize / headDim,
    "llama.attention.key_length": headDim,
    ...metadata,
  };
  const fileOf = (form: "own" | "plain"): Buffer =>
    ggufBytes(header, [...vectors, ...matrices.map((each) => each[form])]);
  await writeFile(paths.own, fileOf("own"));
  if (paths.plain !== undefined) await writeFile(paths.plain, fileOf("plain"));
}
