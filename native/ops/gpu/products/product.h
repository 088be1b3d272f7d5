// Products on a GPU, whose bits do not depend on the batch.
#pragma once

#include <ATen/core/Tensor.h>

#include "kernels/cuda/product/product.h"
#include "ops/products/weight.h"

namespace seekrl::ops {

// x [M, K], weight [N, K], bias [N] or undefined, all of 16 bits -> x weight^T + bias in `dtype`, theirs or f32, with
// gradients.
at::Tensor gpu_linear(const at::Tensor& x_MK, const at::Tensor& weight_NK, const at::Tensor& bias_N,
                      at::ScalarType dtype);

// x [M, D] weight [V, D]^T in f32, without gradients; the second into the first V columns of `logits`.
at::Tensor gpu_logits(const at::Tensor& x_MD, const Weight& weight_VD);
void gpu_logits(const at::Tensor& logits_MV, const at::Tensor& x_MD, const Weight& weight_VD);

// One product of the form, without gradients: `out` = scale left right, or += that. Sizes are those of `out` and of the
// left factor; rows may be further apart than they are long.
void gpu_product(const at::Tensor& out_MN, const at::Tensor& left, const at::Tensor& right, cuda::ProductForm form,
                 bool adds = false, const at::Tensor& bias_N = {}, double scale = 1);

}  // namespace seekrl::ops
