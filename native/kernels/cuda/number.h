// 16-bit numbers in registers, eight to a load of 16 bytes.
#pragma once

#include "kernels/cuda/device.h"

#if defined(__CUDACC__)
#include <cuda_fp16.h>
#endif

namespace seekrl::cuda {

__host__ __device__ __forceinline__ int64_t ceil_divide(int64_t count, int64_t by) { return (count + by - 1) / by; }

// Bits of a bf16, of an f16.
struct Bf16 {
  uint16_t bits;
};
struct F16 {
  uint16_t bits;
};

__host__ __device__ __forceinline__ float float_of(uint32_t bits) {
  float x;
  memcpy(&x, &bits, 4);
  return x;
}
__host__ __device__ __forceinline__ uint32_t bits_of(float x) {
  uint32_t bits;
  memcpy(&bits, &x, 4);
  return bits;
}

__host__ __device__ __forceinline__ float to_float(float x) { return x; }
__host__ __device__ __forceinline__ float to_float(Bf16 x) { return float_of(uint32_t{x.bits} << 16); }
__host__ __device__ __forceinline__ float to_float(F16 x) {
#if defined(__CUDACC__)
  return __half2float(__ushort_as_half(x.bits));
#else
  return static_cast<float>(std::bit_cast<Half>(x.bits));
#endif
}

// The nearest, even at a tie; NaN stays NaN.
template <class Number>
__host__ __device__ __forceinline__ Number from_float(float x);
template <>
__host__ __device__ __forceinline__ float from_float<float>(float x) {
  return x;
}
template <>
__host__ __device__ __forceinline__ Bf16 from_float<Bf16>(float x) {
  const uint32_t bits = bits_of(x);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return {static_cast<uint16_t>(bits >> 16 | 0x40)};
  return {static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16)};
}
template <>
__host__ __device__ __forceinline__ F16 from_float<F16>(float x) {
#if defined(__CUDACC__)
  return {__half_as_ushort(__float2half_rn(x))};
#else
  return {std::bit_cast<uint16_t>(static_cast<Half>(x))};
#endif
}

// Two of them as one register holds them, the first in its low half.
template <class Number>
__device__ __forceinline__ uint32_t pack(float low, float high) {
  return from_float<Number>(low).bits | uint32_t{from_float<Number>(high).bits} << 16;
}
#if defined(__CUDACC__)
template <>
__device__ __forceinline__ uint32_t pack<Bf16>(float low, float high) {
  uint32_t pair;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
}
template <>
__device__ __forceinline__ uint32_t pack<F16>(float low, float high) {
  uint32_t pair;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
}
#endif
template <class Number>
__device__ __forceinline__ float unpack(uint32_t pair, int half) {
  return to_float(Number{static_cast<uint16_t>(half == 0 ? pair & 0xffff : pair >> 16)});
}

__device__ __forceinline__ void mma(Bf16, float (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  mma_bf16(d, a, b0, b1);
}
__device__ __forceinline__ void mma(F16, float (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  mma_f16(d, a, b0, b1);
}

// Eight neighbours as floats; `at` is a multiple of 16 bytes.
template <class Number>
__device__ __forceinline__ void load_8(float (&values)[8], const Number* at) {
  const uint4 loaded = *reinterpret_cast<const uint4*>(at);
  const uint32_t pairs[4] = {loaded.x, loaded.y, loaded.z, loaded.w};
#pragma unroll
  for (int i = 0; i < 8; ++i) values[i] = unpack<Number>(pairs[i / 2], i % 2);
}
template <>
__device__ __forceinline__ void load_8<float>(float (&values)[8], const float* at) {
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const float4 loaded = reinterpret_cast<const float4*>(at)[i];
    values[4 * i] = loaded.x;
    values[4 * i + 1] = loaded.y;
    values[4 * i + 2] = loaded.z;
    values[4 * i + 3] = loaded.w;
  }
}
template <class Number>
__device__ __forceinline__ void store_8(Number* at, const float (&values)[8]) {
  uint32_t pairs[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) pairs[i] = pack<Number>(values[2 * i], values[2 * i + 1]);
  *reinterpret_cast<uint4*>(at) = uint4{pairs[0], pairs[1], pairs[2], pairs[3]};
}
template <>
__device__ __forceinline__ void store_8<float>(float* at, const float (&values)[8]) {
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    reinterpret_cast<float4*>(at)[i] = float4{values[4 * i], values[4 * i + 1], values[4 * i + 2], values[4 * i + 3]};
  }
}

}  // namespace seekrl::cuda
