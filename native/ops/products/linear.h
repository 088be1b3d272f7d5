// y = x W^T + b, the matrix product of every projection in the model.
#pragma once

#include <ATen/core/Tensor.h>

#include "ops/products/weight.h"

namespace seekrl::ops {

// x_MK, weight_NK (rows as Hugging Face stores them), bias_N (may be undefined) -> [M, N] in x's dtype, differentiable.
// On the CPU x is f32 also where weight and bias are bf16: x is rounded to bf16, sums are f32, and the gradients of
// weight and bias go into their f32 sums (gradient.h).
at::Tensor linear(const at::Tensor& x_MK, const at::Tensor& weight_NK, const at::Tensor& bias_N);

// The same; a quantised weight, and its bias, take no gradient (quant_linear.h).
at::Tensor linear(const at::Tensor& x_MK, const Weight& weight, const at::Tensor& bias_N);

// The product with a part of a weight's columns, which other parts are added to: f32, also on a GPU.
at::Tensor partial_linear(const at::Tensor& x_MK, const Weight& weight);

// x_MN in f32 + bias_N, differentiable; the bias's gradient goes into its f32 sum.
at::Tensor add_bias(const at::Tensor& x_MN, const at::Tensor& bias_N);

}  // namespace seekrl::ops
