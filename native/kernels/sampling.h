// What a draw needs of one row of logits: weights in place of probabilities, and sums and parts of them; f32, CPU.
#pragma once

#include <cstdint>

#include "kernels/kernel.h"
#include "kernels/logprob.h"

namespace seekrl::kernels {

// Weights that are added up together.
inline constexpr int64_t kWeightBlock = 1024;
// The stream of random numbers of a seed that draws are made with.
inline constexpr uint64_t kSamplingStream = 0x73616d706c65;

// One of the most likely tokens of a row.
struct TopToken {
  int32_t token;
  float logprob;  // natural, with the bits that it has where the token is drawn
};
inline constexpr int64_t kMaxTop = 20;  // of a row

// row_stats of the logits, and weights_V[v] = exp(z_v - max). Reads 2 and writes 1 times `size` floats.
namespace reference {
RowStats row_weights(float* weights_V, const float* logits_V, int64_t size, float inverse_temperature);
}
SEEKRL_KERNEL(row_weights);

// sums_B[b] is the sum of those weights of block b that are at least `bound`: 16 sums by index mod 16, added in a fixed
// tree. Reads `size` floats.
namespace reference {
void kept_sums(float* sums_B, const float* weights_V, int64_t size, float bound);
}
SEEKRL_KERNEL(kept_sums);

// Copies the weights in [low, high), in their order, and returns how many they are. `kept` has room for 16 more than
// `size`, or is `weights_V`. Reads `size` floats.
namespace reference {
int64_t keep_between(float* kept, const float* weights_V, int64_t size, float low, float high);
}
SEEKRL_KERNEL(keep_between);

}  // namespace seekrl::kernels
