// Numbers of 8 bits (e4m3 of the OCP's "8-bit Floating Point Specification"): 3 bits of mantissa, 2^-9 to 448.
#pragma once

#include "kernels/cuda/number.h"

namespace seekrl::cuda {

struct E4m3 {
  uint8_t bits;
};

// Four codes as one register holds them, the first in its low byte; exact, in bf16 and f16 too. The code of NaN, which
// nobody writes, counts as 480.
__device__ __forceinline__ float unpack_e4m3(uint32_t four, int i) {
  // As a float the code is 2^-120 of its number; the shift copies its sign to bits that the mask clears.
  const auto wide = static_cast<uint32_t>(static_cast<int32_t>(four << (24 - 8 * i)) >> 4) & 0x87f00000u;
  return float_of(wide) * 0x1p120f;
}

// The nearest, even at a tie; of what is beyond, 448.
template <>
__host__ __device__ __forceinline__ E4m3 from_float<E4m3>(float x) {
  const uint32_t bits = bits_of(x), sign = bits >> 24 & 0x80, size = bits & 0x7fffffff;
  // Below 2^-6 steps are 2^-9, those of floats at 2^14.
  const uint32_t small = bits_of(float_of(size) + 0x1p14f) - bits_of(0x1p14f);
  const uint32_t rounded = (size + 0x7ffff + (size >> 20 & 1)) >> 20;
  const uint32_t code = size < bits_of(0x1p-6f) ? small : rounded - (120 << 3);
  return {static_cast<uint8_t>(sign | (code < 0x7e ? code : 0x7e))};
}

// The power of two that numbers of at most `largest` are divided by, so that the division is exact; no less than 2^-15,
// so that codes times it are exact in f16 too. NaN for what is not finite.
__device__ __forceinline__ float e4m3_scale(float largest) {
  if (!(largest < INFINITY)) return NAN;
  // 448 is 1.75 times 2^8.
  const uint32_t bits = bits_of(largest), exponent = (bits >> 23) + ((bits & 0x7fffff) > 0x600000 ? 1 : 0);
  return float_of((exponent > 120 ? exponent - 8 : 112) << 23);
}

}  // namespace seekrl::cuda
