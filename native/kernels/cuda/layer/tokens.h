// What a forward makes of its tokens and positions before the first layer.
#pragma once

#include <cstdint>

#include "kernels/cuda/status.h"

namespace seekrl::cuda {

struct Embed {
  float* out_TD;
  const int32_t* ids_T;
  const void* weight_VD;      // in dtype; it and out begin at multiples of 16 bytes
  int64_t num_tokens, width;  // width: a multiple of 8
  float scale;
  Dtype dtype;
};

// out = weight of the token times scale. A block a token; moves 6 D bytes a token.
Status embed(const Embed& call, void* stream);

struct EmbedGradient {
  float* weight_grad_VD;  // added to; at a multiple of 16 bytes, as out_grad is
  const int32_t* ids_T;
  const float* out_grad_TD;
  int64_t num_tokens, width;  // at most 2^31 - 1 tokens; width: a multiple of 8
  float scale;
};

// weight_grad of a token += scale times the rows of its places, first to last: no atomics, the bits are the same each
// time. Ids mod 512 (fewer for few tokens) are a bucket: a block for each, and for each 1,024 columns, looks through
// all ids for its own, 4 T bytes from the cache, and adds the rows of one id after the other, 8 of them on their way at
// once. Moves each row once, and the gradient of a token twice for every thousand places of its bucket.
Status embed_gradient(const EmbedGradient& call, void* stream);

struct RotaryAngles {
  float* cos_TF;
  float* sin_TF;
  const int32_t* positions_T;
  const float* frequencies_F;  // radians per position
  int64_t num_tokens, num_frequencies;
  double scale;
};

// cos and sin of position times frequency, that product rounded to f32 as Hugging Face's models have it, times scale;
// computed in f64, rounded once. Angles up to 2^20.
Status rotary_angles(const RotaryAngles& call, void* stream);

}  // namespace seekrl::cuda
