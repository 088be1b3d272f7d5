// Causal attention over a packed batch: inside each span, and over the spans that it continues.
#pragma once

#include <ATen/core/Tensor.h>

#include "ops/attention/spans.h"

namespace seekrl::ops {

// query_THC, key_TKC, value_TKC -> [T, H, C]; head h reads key head h / (H / K); scores are scaled by 1 / sqrt(C).
// A row has the bits that it has when its text stands alone. Memory grows with T, never with T x T. Differentiable.
at::Tensor span_attention(const at::Tensor& query_THC, const at::Tensor& key_TKC, const at::Tensor& value_TKC,
                          const Spans& spans);

}  // namespace seekrl::ops
