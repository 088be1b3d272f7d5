// Codes in registers as pairs of 16-bit numbers, and where they lie.
#pragma once

#include "kernels/cuda/number.h"
#include "kernels/cuda/quant/quant.h"
#include "kernels/products/quant.h"

namespace seekrl::cuda {

using kernels::kAbsmaxBlock, kernels::kNf4Block, kernels::kQuantBlock, kernels::kQuantLanes;

// Both numbers of a pair plus both of another, exact here.
__device__ __forceinline__ uint32_t add_pairs(Bf16, uint32_t a, uint32_t b) {
#if defined(__CUDACC__)
  uint32_t sum;
  asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(sum) : "r"(a), "r"(0x3f803f80u), "r"(b));  // times 1
  return sum;
#else
  return pack<Bf16>(unpack<Bf16>(a, 0) + unpack<Bf16>(b, 0), unpack<Bf16>(a, 1) + unpack<Bf16>(b, 1));
#endif
}
__device__ __forceinline__ uint32_t add_pairs(F16, uint32_t a, uint32_t b) {
#if defined(__CUDACC__)
  uint32_t sum;
  asm("add.rn.f16x2 %0, %1, %2;" : "=r"(sum) : "r"(a), "r"(b));
  return sum;
#else
  return pack<F16>(unpack<F16>(a, 0) + unpack<F16>(b, 0), unpack<F16>(a, 1) + unpack<F16>(b, 1));
#endif
}

// Code less 8 of the nibbles at bits 0 and 16: 128 + code in bf16, 1,024 + code in f16, less that.
__device__ __forceinline__ uint32_t nibble_pair(Bf16, uint32_t word) {
  return add_pairs(Bf16{}, (word & 0x000f000fu) | 0x43004300u, 0xc308c308u);
}
__device__ __forceinline__ uint32_t nibble_pair(F16, uint32_t word) {
  return add_pairs(F16{}, (word & 0x000f000fu) | 0x64006400u, 0xe408e408u);
}

// 2^23 + byte in f32, less that and 128: a whole number of at most 8 bits, whose upper half is its bf16.
__device__ __forceinline__ float byte_value(uint32_t byte) { return float_of(0x4b000000u | byte) - 8388736.0f; }

// Code less 128 of the bytes at bits 0 and 16.
__device__ __forceinline__ uint32_t byte_pair(Bf16, uint32_t word) {
  const float low = byte_value(word & 0xff), high = byte_value(word >> 16 & 0xff);
  return bits_of(low) >> 16 | (bits_of(high) & 0xffff0000u);
}
__device__ __forceinline__ uint32_t byte_pair(F16, uint32_t word) {
  return add_pairs(F16{}, (word & 0x00ff00ffu) | 0x64006400u, 0xe480e480u);
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
