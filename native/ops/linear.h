// y = x W^T + b, the matrix product of every projection in the model.
#pragma once

#include <ATen/core/Tensor.h>

namespace seekrl::ops {

// x_MK, weight_NK (rows as Hugging Face stores them), bias_N (may be undefined) -> [M, N], differentiable.
at::Tensor linear(const at::Tensor& x_MK, const at::Tensor& weight_NK, const at::Tensor& bias_N);

}  // namespace seekrl::ops
