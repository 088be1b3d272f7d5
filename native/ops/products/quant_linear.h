// y = x W^T + b with a quantised weight, which takes no gradient; on the CPU but for quant_linear.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "kernels/products/quant.h"
#include "ops/products/bf16_matmul.h"
#include "ops/quant/quant_weight.h"

namespace torch::autograd {
struct AutogradContext;
}  // namespace torch::autograd

namespace seekrl::ops {

// M rows of K floats, x_stride apart, rounded to int8 in blocks of 32 (kernels/products/quant.h); in this thread's
// memory, valid until its next call.
kernels::QuantRows quant_rows(const float* x, int64_t x_stride, int64_t m, int64_t k, int num_helpers);

// y_MN = activation(x_MK weight_NK^T + bias_N) with a weight of any kind but kNf4; bias_N may be null, rows of y are
// y_stride floats apart. A row's result depends on that row alone.
void code_linear(float* y_MN, int64_t y_stride, const kernels::QuantRows& x_MK, int64_t m, const QuantWeight& weight,
                 const float* bias_N, Activation activation, int num_helpers);

// quant_rows of code_linear's y, which is not written; in this thread's memory beside x_MK, until its next call.
kernels::QuantRows code_rows(const kernels::QuantRows& x_MK, int64_t m, const QuantWeight& weight, const float* bias_N,
                             Activation activation, int num_helpers);

// x: M rows of K floats, contiguous; y: M rows of N floats. bias_N may be null. A row's result depends on that row
// alone. Codes of 8 and 4 bits: code_linear of quant_rows. NF4: bit for bit the product of bf16 with rows_to_bf16.
void quant_product(float* y_MN, const float* x_MK, int64_t m, const QuantWeight& weight, const float* bias_N);

// x_grad_MK = y_grad_MN W, both rounded to bf16; the rounding of x counts as the identity.
void quant_input_grad(float* x_grad_MK, const float* y_grad_MN, int64_t m, const QuantWeight& weight);

// x_MK -> [M, N] in `dtype`, differentiable in x: f32 on the CPU; on a GPU x has 16 bits, and what comes of it those
// or f32. bias_N may be undefined and takes no gradient.
at::Tensor quant_linear(const at::Tensor& x_MK, const QuantWeight& weight, const at::Tensor& bias_N,
                        at::ScalarType dtype);

// What backward needs of a weight is kept in the context of its function.
void hold_weight(torch::autograd::AutogradContext* context, const QuantWeight& weight);
const QuantWeight& held_weight(torch::autograd::AutogradContext* context);

}  // namespace seekrl::ops
