// Log-probabilities of given tokens on a card.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "ops/products/weight.h"

namespace seekrl::ops {

// Logits that are there at once, in f32: 256 MB.
constexpr int64_t kChunkLogits = int64_t{1} << 26;

// f32 [R] each.
struct CardScores {
  at::Tensor logprob_R, entropy_R;
};

// hidden [R, D] and weight [V, D] of 16 bits, or quantised, ids i64 [R]; as ops::token_logprob, with gradients.
CardScores card_token_logprob(const at::Tensor& hidden_RD, const Weight& weight_VD, const at::Tensor& ids_R,
                              double temperature, double softcap);

}  // namespace seekrl::ops
