// The rows of the embedding that tokens name.
#pragma once

#include <ATen/core/Tensor.h>

namespace seekrl::ops {

// weight_VD, tokens_T (i64) -> [T, D], times scale: f32, or f64 of such a weight. Differentiable in the weight.
at::Tensor embedding(const at::Tensor& weight_VD, const at::Tensor& tokens_T, double scale = 1);

}  // namespace seekrl::ops
