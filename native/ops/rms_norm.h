// Root-mean-square normalisation over the last dimension.
#pragma once

#include <ATen/core/Tensor.h>

namespace seekrl::ops {

// x [..., D], weight_D -> x / sqrt(mean(x^2) + eps) * (weight + offset) in x's dtype, the mean in f32; differentiable.
// On the CPU the weight may be bf16 where x is f32.
// On a GPU the result has the weight's dtype where that has 16 bits.
at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& weight_D, double eps, double offset = 0);

struct AddNormed {
  at::Tensor sum, normed;
};

// x + added and its norm.
AddNormed add_norm(const at::Tensor& x, const at::Tensor& added, const at::Tensor& weight_D, double eps,
                   double offset = 0);

}  // namespace seekrl::ops
