// Rotary position embedding in the "rotate half" layout of Llama and Qwen.
#pragma once

#include <ATen/core/Tensor.h>

namespace seekrl::ops {

// x_THC; cos_TF and sin_TF of the position's angles, f32, F at most C / 2. Element f pairs with f + F:
// y[f] = x[f] cos - x[f + F] sin, y[f + F] = x[f + F] cos + x[f] sin; elements from 2 F on stay. Differentiable in x.
at::Tensor rope(const at::Tensor& x_THC, const at::Tensor& cos_TF, const at::Tensor& sin_TF);

}  // namespace seekrl::ops
