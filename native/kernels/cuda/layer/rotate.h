// From a layer's projections to attention: biases, norms of queries and keys, rotary positions, keys and values into
// their blocks, in one pass over the numbers; and the way back for training.
#pragma once

#include <cstdint>

#include "kernels/cuda/status.h"

namespace seekrl::cuda {

// One of the three projections: [T, heads, C] in dtype, tokens `stride` values apart, an even number, so that the parts
// of one product may be given.
struct ProjectedHeads {
  void* data;
  int64_t stride;
  const void* bias;  // [heads, C] in dtype; null: none
  const void* norm;  // [C] in dtype, of queries and keys; null: none
};

// Of each token's position.
struct RotaryTables {
  const float* cos_TF;  // F <= C / 2: channels c and F + c are a pair, those from 2 F on stay
  const float* sin_TF;
  int64_t num_frequencies;  // F; 0: nothing is rotated
};

struct Rotate {
  ProjectedHeads query;  // in place
  ProjectedHeads key;    // written to the blocks alone; in place where there are none
  ProjectedHeads value;
  void* keys;  // blocks as attention/paged.h has them; null, for training: keys and values stay where they are
  void* values;
  // With both, blocks hold codes of 8 bits and these are their scales, as attention/paged.h has them.
  float* key_scales = nullptr;
  float* value_scales = nullptr;
  const int32_t* slots_T;  // block * block_tokens + place of each token; negative: it is not kept; for blocks alone
  RotaryTables rotary;
  int64_t num_tokens, num_heads, num_kv_heads, head_dim;  // head_dim: even, at most 256
  int64_t block_tokens;
  float norm_epsilon;
  float norm_offset;  // added to a norm's weight: 1 for Gemma's, else 0
  Dtype dtype;        // kBf16 or kF16
};

// x += bias; x = x / sqrt(mean of x^2 + epsilon) (norm + offset); (x_c, x_F+c) become (x_c cos - x_F+c sin,
// x_F+c cos + x_c sin); of values, the bias alone; all in f32, rounded once. A head that is kept as codes gets the
// least scale by which none of its numbers is beyond 448, at least 2^-15, or NaN where one is not finite. A warp a head
// and token; reads and writes each number once, none of what stays as it is.
Status rotate(const Rotate& call, void* stream);

// Gradients of one of the three projections.
struct HeadGradients {
  // Of what `rotate` made: [T, heads, C] in dtype, tokens `stride` values apart. Null: this projection is left out.
  const void* rotated;
  int64_t stride;
  void* projected;  // written: in dtype, laid out as the projection; may be `rotated` where it lies so too
  float* bias;      // [heads, C], added to; null: not wanted
  float* norm;      // [C], added to; null: not wanted
};

struct RotateGradient {
  Rotate of;  // the call; data, as they were before it, are read where there is a norm, blocks and slots never
  HeadGradients query, key, value;
  float* scratch;  // rotate_gradient_scratch_floats floats, where a bias' or a norm's gradient is wanted
};

// With n = x s w, x the projection and its bias, s = 1 / sqrt(mean of x^2 + epsilon), w = norm + offset, and n_grad the
// rotated head's gradient turned back, (g_c cos + g_F+c sin, g_F+c cos - g_c sin): x_grad = s (w n_grad - x s^2 mean of
// (w n_grad x)), rounded once; bias += sum over tokens of x_grad; norm += sum over tokens and heads of n_grad x s.
// Sums are f32, of tokens within kRotateGroups groups, then of groups, then of heads. No atomics: the bits are the same
// each time. A warp has a head's tokens of a quarter of a group; moves 4 bytes a number, 6 where there is a norm.
constexpr int64_t kRotateGroups = 64;
Status rotate_gradient(const RotateGradient& call, void* stream);
int64_t rotate_gradient_scratch_floats(int64_t num_heads, int64_t num_kv_heads, int64_t head_dim);

}  // namespace seekrl::cuda
