// Log-probabilities of given tokens on a card.
#pragma once

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <cstdint>

#include "ops/products/weight.h"

namespace seekrl::ops {

// Logits that are there at once, in f32: 256 MB.
constexpr int64_t kChunkLogits = int64_t{1} << 26;

// Rows of logits that are there at once, of `num_rows`, and how far apart they stand, as products read them along.
struct LogitChunk {
  int64_t rows, stride;
};
inline LogitChunk card_logit_chunk(int64_t num_rows, int64_t vocab_size) {
  return {std::min(num_rows, std::max<int64_t>(64, kChunkLogits / vocab_size)), (vocab_size + 7) / 8 * 8};
}

// f32 [R] each.
struct CardScores {
  at::Tensor logprob_R, entropy_R;
};

// hidden [R, D] and weight [V, D] of 16 bits, or quantised, ids i64 [R]; as ops::token_logprob, with gradients.
CardScores card_token_logprob(const at::Tensor& hidden_RD, const Weight& weight_VD, const at::Tensor& ids_R,
                              double temperature, double softcap);

}  // namespace seekrl::ops
