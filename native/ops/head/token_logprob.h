// The language-model head fused with log-softmax and the choice of one id per row.
#pragma once

#include <ATen/core/Tensor.h>

#include "ops/head/head_slice.h"
#include "ops/products/weight.h"

namespace seekrl::ops {

struct TokenLogprob {
  at::Tensor logprob_R;  // f32, natural log of the id's probability
  at::Tensor entropy_R;  // f32, entropy of the row's distribution, in nats
};

// Logits are hidden_RD weight_VD^T / temperature, made for a few rows at a time and never stored for all: memory
// grows with R x D and V. logit_softcap > 0: they are bounded by ops::softcap_ before the temperature divides them.
// Differentiable in hidden and weight through both results; a quantised weight takes no gradient. Of a slice
// ids are those of the whole head, and the gradient of hidden is what this slice gives to it.
TokenLogprob token_logprob(const at::Tensor& hidden_RD, const Weight& weight_VD, const at::Tensor& ids_R,
                           double temperature, double logit_softcap = 0, const HeadSlice& slice = {});

}  // namespace seekrl::ops
