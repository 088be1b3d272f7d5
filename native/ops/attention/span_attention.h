// Causal attention over a packed batch: inside each span, and over the spans that it continues.
#pragma once

#include <ATen/core/Tensor.h>

#include "kernels/attention.h"
#include "ops/attention/spans.h"

namespace seekrl::ops {

using kernels::ScoreRule;

// query_THC, key_TKC, value_TKC -> [T, H, C]; head h reads key head h / (H / K).
// A row has the bits that it has when its text stands alone. Memory grows with T, never with T x T. Differentiable.
// dtype: the model's. Where it is bf16 and the tensors are f32 on the CPU, kernels::attend_bf16 rounds its factors;
// gradients are those over the rounded query, key and value, and rounding counts as the identity (the straight-through
// estimator, Bengio et al. 2013, arXiv 1308.3432).
at::Tensor span_attention(const at::Tensor& query_THC, const at::Tensor& key_TKC, const at::Tensor& value_TKC,
                          const Spans& spans, const ScoreRule& rule, at::ScalarType dtype);

// The same of one text whose last Q tokens alone have queries, by ATen's ops: query_QHC, key_NKC, value_NKC ->
// [Q, H, C].
at::Tensor composed_attention(const at::Tensor& query_QHC, const at::Tensor& key_NKC, const at::Tensor& value_NKC,
                              const ScoreRule& rule);

}  // namespace seekrl::ops
