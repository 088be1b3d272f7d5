/** A tiny llama as a GGUF file. */
import type { GgufValue } from "../../../lib/base/gguf/gguf-cursor.ts";
import { ggufBytes, type WrittenTensor } from "./fixture.ts";

/** A llama of one layer whose value projection, four rows of 256, is given. */
export function withValues(
  values: Omit<WrittenTensor, "name" | "shape">,
  metadata: Readonly<Record<string, GgufValue>> = {},
): Buffer {
  const zeros = (name: string, ...shape: number[]): WrittenTensor => {
    const count = shape.reduce((product, size) => product * size, 1);
    return { name, shape, type: "F32", bytes: new Uint8Array(4 * count) };
  };
  const tensors: WrittenTensor[] = [
    zeros("token_embd.weight", 3, 256),
    ...[zeros("blk.0.attn_norm.weight", 256), zeros("blk.0.ffn_norm.weight", 256)],
    ...[zeros("blk.0.attn_q.weight", 8, 256), zeros("blk.0.attn_k.weight", 4, 256)],
    { name: "blk.0.attn_v.weight", shape: [4, 256], ...values },
    ...[zeros("blk.0.attn_output.weight", 256, 8), zeros("blk.0.ffn_gate.weight", 2, 256)],
    ...[zeros("blk.0.ffn_up.weight", 2, 256), zeros("blk.0.ffn_down.weight", 256, 2)],
    zeros("output_norm.weight", 256),
  ];
  return ggufBytes({ ...tinyMetadata, ...metadata }, tensors);
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
