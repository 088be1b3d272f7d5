// Codes in registers as 16-bit numbers, and where they lie: whoever reads a weight makes these of it.
#pragma once

#include "kernels/cuda/number.h"
#include "kernels/cuda/quant/quant.h"
#include "kernels/products/quant.h"

namespace seekrl::cuda {

using kernels::kAbsmaxBlock, kernels::kNf4Block, kernels::kQuantBlock, kernels::kQuantLanes;

// 2^23 + byte in f32, less that and `zero`.
__device__ __forceinline__ float code_less(uint32_t byte, float zero) {
  return float_of(0x4b000000u | byte) - (8388608.0f + zero);
}

// The numbers of 4 neighbours along k from their bytes.
template <class Number>
__device__ __forceinline__ uint2 numbers_of_bytes(uint32_t word, float scale) {
  float x[4];
#pragma unroll
  for (int j = 0; j < 4; ++j) x[j] = code_less(word >> 8 * j & 0xff, 128.0f) * scale;
  return {pack<Number>(x[0], x[1]), pack<Number>(x[2], x[3])};
}

// Of 8 from their nibbles: the low halves of the bytes, then the high ones.
template <class Number>
__device__ __forceinline__ uint4 numbers_of_nibbles(uint32_t word, float scale) {
  float x[8];
#pragma unroll
  for (int j = 0; j < 8; ++j) x[j] = code_less(word >> (8 * (j % 4) + j / 4 * 4) & 15, 8.0f) * scale;
  return {pack<Number>(x[0], x[1]), pack<Number>(x[2], x[3]), pack<Number>(x[4], x[5]), pack<Number>(x[6], x[7])};
}

// Of 8 from nibbles that name levels, the high half of each byte first.
template <class Number>
__device__ __forceinline__ uint4 numbers_of_levels(uint32_t word, const float* levels, float absmax) {
  float x[8];
#pragma unroll
  for (int j = 0; j < 8; ++j) x[j] = levels[word >> (j / 2 * 8 + (j % 2 == 0 ? 4 : 0)) & 15] * absmax;
  return {pack<Number>(x[0], x[1]), pack<Number>(x[2], x[3]), pack<Number>(x[4], x[5]), pack<Number>(x[6], x[7])};
}

__device__ __forceinline__ uint32_t word_of(const uint4& words, int i) {
  return i == 0 ? words.x : i == 1 ? words.y : i == 2 ? words.z : words.w;
}

__device__ __forceinline__ float absmax_of(const QuantMatrix& weight, int64_t n, int64_t block) {
  const int64_t i = n * ceil_divide(weight.k, kNf4Block) + block;
  // Rounded twice, as the CPU does it.
  const float deviation = weight.absmax_levels[weight.absmax[i]] * weight.absmax_scales[i / kAbsmaxBlock];
#if defined(__CUDACC__)
  return __fadd_rn(deviation, *weight.absmax_mean);
#else
  return deviation + *weight.absmax_mean;
#endif
}

}  // namespace seekrl::cuda
