// From a step's projections to attention: biases, norms of queries and keys, rotary positions, keys and values into
// their blocks, in one pass over the numbers.
#pragma once

#include <cstdint>

#include "kernels/cuda/status.h"

namespace seekrl::cuda {

// One of the three projections: [T, heads, C] in dtype, tokens `stride` values apart, so that the parts of one product
// may be given.
struct ProjectedHeads {
  void* data;
  int64_t stride;
  const void* bias;  // [heads, C] in dtype; null: none
  const void* norm;  // [C] in dtype; null: none
};

struct RotateAndWrite {
  ProjectedHeads query;  // rotated in place
  ProjectedHeads key;    // written to the blocks alone
  ProjectedHeads value;
  void* keys;  // blocks as attention/paged.h has them
  void* values;
  const int32_t* slots_T;      // block * block_tokens + place of each token; negative: it is not kept
  const int32_t* positions_T;  // rows of the tables
  const float* cos_PF;         // [positions, F], F <= C / 2: channels c and F + c are a pair, those from 2 F on stay
  const float* sin_PF;
  int64_t num_tokens, num_heads, num_kv_heads, head_dim;  // head_dim: even, at most 256
  int64_t num_frequencies;                                // F; 0: nothing is rotated
  int64_t block_tokens;
  float norm_epsilon;
  float norm_offset;  // added to a norm's weight: 1 for Gemma's, else 0
  Dtype dtype;        // kBf16 or kF16
};

// x += bias; x = x / sqrt(mean of x^2 + epsilon) (norm + offset); (x_c, x_F+c) become (x_c cos - x_F+c sin,
// x_F+c cos + x_c sin); all in f32, rounded once. A warp a head and token; reads and writes each number once.
Status rotate_and_write(const RotateAndWrite& call, void* stream);

}  // namespace seekrl::cuda
