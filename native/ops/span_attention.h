// Causal attention inside each span of a packed batch.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace seekrl::ops {

// query_THC, key_TKC, value_TKC -> [T, H, C]; head h reads key head h / (H / K); scores are scaled by 1 / sqrt(C).
// span_starts: S + 1 offsets, from 0 to T. Memory grows with T, never with T x T. Differentiable.
at::Tensor span_attention(const at::Tensor& query_THC, const at::Tensor& key_TKC, const at::Tensor& value_TKC,
                          const std::vector<int64_t>& span_starts);

}  // namespace seekrl::ops
