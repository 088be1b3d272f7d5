// Products with quantised weights on a GPU, whose bits do not depend on the batch: those of the product with what the
// codes mean, rounded to 16 bits.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "ops/quant/quant_weight.h"

namespace seekrl::ops {

constexpr int64_t kQuantScratch = int64_t{1} << 27;

// out = x weight^T + bias, in f32 or x's dtype, without gradients. Of many rows kQuantScratch bytes of the weight are
// 16 bits at a time.
void gpu_quant_product(const at::Tensor& out_MN, const at::Tensor& x_MK, const QuantWeight& weight,
                       const at::Tensor& bias_N);

// x_grad = y_grad weight. y_grad has N columns or, what lies behind them being zero, up to the next multiple of 8.
void gpu_quant_input_gradient(const at::Tensor& x_grad_MK, const at::Tensor& y_grad_MN, const QuantWeight& weight);

}  // namespace seekrl::ops
