// Attention of packed texts on a GPU, and the rotation of queries and keys before it.
#pragma once

#include <ATen/core/Tensor.h>

#include "kernels/attention.h"
#include "ops/gpu/span_tables.h"

namespace seekrl::ops {

// The norms of heads and the rotation of one layer. Undefined tensors: there is none.
struct RotaryInputs {
  at::Tensor q_norm_C, k_norm_C;  // of 16 bits
  double norm_eps, norm_offset;
  at::Tensor cos_TF, sin_TF;  // f32, of each token
};

struct RotatedHeads {
  at::Tensor query_THC, key_TKC;
};

// As cuda::rotate without blocks, with gradients.
RotatedHeads gpu_rotate(const at::Tensor& query_THC, const at::Tensor& key_TKC, const RotaryInputs& rotary);

// Of packed texts, with the bits of cuda::paged_attention, which are those of cuda::prefill_attention, and the
// gradients of cuda::span_attention. spans: those of the T tokens.
at::Tensor gpu_span_attention(const at::Tensor& query_THC, const at::Tensor& key_TKC, const at::Tensor& value_TKC,
                              const SpanTables& spans, const kernels::ScoreRule& rule);

}  // namespace seekrl::ops
