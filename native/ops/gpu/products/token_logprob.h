// Log-probabilities of given tokens on a GPU.
#pragma once

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <cstdint>

#include "ops/head/head_slice.h"
#include "ops/products/weight.h"

namespace seekrl::ops {

// Logits that are there at once, in f32: 256 MB.
constexpr int64_t kChunkLogits = int64_t{1} << 26;

// Rows of logits that are there at once, of `num_rows`, and how far apart they stand, as products read them along.
struct LogitChunk {
  int64_t rows, stride;
};
inline LogitChunk gpu_logit_chunk(int64_t num_rows, int64_t vocab_size) {
  return {std::min(num_rows, std::max<int64_t>(64, kChunkLogits / vocab_size)), (vocab_size + 7) / 8 * 8};
}

// f32 [R] each.
struct GpuScores {
  at::Tensor logprob_R, entropy_R;
};

// hidden [R, D] and weight [V, D] of 16 bits, or quantised, ids i64 [R]; as ops::token_logprob, with gradients.
GpuScores gpu_token_logprob(const at::Tensor& hidden_RD, const Weight& weight_VD, const at::Tensor& ids_R,
                            double temperature, double softcap, const HeadSlice& slice);

// f32 [3, R]: entropies, maxima and logarithms of sums (cuda::RowScores) of rows of logits [R, V] in f32, put together
// from parts of `part` logits, the last one maybe shorter: the bits of ranks that have such slices of the head.
at::Tensor gpu_normalisers(const at::Tensor& logits_RV, int64_t part, double temperature, double softcap);

}  // namespace seekrl::ops
