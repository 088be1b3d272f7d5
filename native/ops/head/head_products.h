// The products of hidden states with the language-model head, a chunk of rows at a time, f32 on the CPU.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "ops/products/weight.h"

namespace seekrl::ops {

// The first `rows` rows of logits [.., V] become those of hidden_RD from `first` on, times head_VD^T.
void head_logits(const at::Tensor& logits, const at::Tensor& hidden_RD, int64_t first, int64_t rows,
                 const Weight& head_VD);

// What the chunk's logit gradients, which are overwritten, give to the hidden states (overwritten) and to the weight
// (added); either may be null.
void head_backward(float* hidden_grad, float* weight_grad, const at::Tensor& logits_grad, const at::Tensor& hidden_RD,
                   int64_t first, int64_t rows, const Weight& head_VD);

}  // namespace seekrl::ops
