/** A tiny llama as a GGUF file. */
import type { GgufValue } from "../../../lib/base/gguf/gguf-cursor.ts";
import { ggufBytes, type WrittenTensor } from "./fixture.ts";

/** A llama of one layer, all zeros but the tensors that are given. */
export function withTensors(
  columns: number,
  given: readonly WrittenTensor[],
  metadata: Readonly<Record<string, GgufValue>> = {},
): Buffer {
  const zeros = (name: string, ...shape: number[]): WrittenTensor => {
    const count = shape.reduce((product, size) => product * size, 1);
    return { name: `${name}.weight`, shape, type: "F32", bytes: new Uint8Array(4 * count) };
  };
  const tensors = [
    zeros("token_embd", 3, columns),
    ...[zeros("blk.0.attn_norm", columns), zeros("blk.0.ffn_norm", columns)],
    ...[
      zeros("blk.0.attn_q", 8, columns),
      zeros("blk.0.attn_k", 4, columns),
      zeros("blk.0.attn_v", 4, columns),
    ],
    ...[zeros("blk.0.attn_output", columns, 8), zeros("blk.0.ffn_gate", 2, columns)],
    ...[
      zeros("blk.0.ffn_up", 2, columns),
      zeros("blk.0.ffn_down", columns, 2),
      zeros("output_norm", columns),
    ],
  ].filter(({ name }) => !given.some((each) => each.name === name));
  return ggufBytes({ ...tinyMetadata, "llama.embedding_length": columns, ...metadata }, [
    ...given,
    ...tensors,
  ]);
}

/** A llama of one layer whose value projection, four rows of 256, is given. */
export function withValues(
  values: Omit<WrittenTensor, "name" | "shape">,
  metadata: Readonly<Record<string, GgufValue>> = {},
): Buffer {
  return withTensors(256, [{ name: "blk.0.attn_v.weight", shape: [4, 256], ...values }], metadata);
}

export const tinyMetadata: Readonly<Record<string, GgufValue>> = {
  "general.architecture": "llama",
  "llama.context_length": 64,
  "llama.embedding_length": 256,
  "llama.block_count": 1,
  "llama.feed_forward_length": 2,
  "llama.attention.head_count": 2,
  "llama.attention.head_count_kv": 1,
  "llama.attention.key_length": 4,
  "llama.attention.layer_norm_rms_epsilon": 1.5e-5,
};
