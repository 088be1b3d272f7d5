// How much memory kernels work in beside the tensors of a training's micro-batch.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace seekrl::train {

struct ScratchSizes {
  int64_t num_kv_heads, head_dim, vocab_size;
  int64_t num_tokens, num_rows;  // of the micro-batch
  bool is_quantised;             // whether the weights are codes
};

// Bytes; freed before the next of their kind are taken.
struct ScratchBytes {
  int64_t logits;     // f32, of the rows that the head takes at once
  int64_t attention;  // on a GPU: a layer's keys and values in blocks, up to 15 tokens a span more
  int64_t weights;    // on a GPU: codes that were widened to 16 bits
};

// From sizes alone: neither the GPU nor its kernels need be there.
ScratchBytes scratch_bytes(at::Device device, const ScratchSizes& sizes);

}  // namespace seekrl::train
