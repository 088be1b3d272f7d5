// The exponential and the hyperbolic tangent of kernels/cpu/exp.h on the GPU, with their bits where a file is compiled
// without fused multiply-adds.
#pragma once

#include "kernels/cpu/exp.h"
#include "kernels/cuda/number.h"

namespace seekrl::cuda {

__device__ __forceinline__ float exp_f32(float x) {
  constexpr float kPolynomial[] = {kernels::kExpPolynomial[0], kernels::kExpPolynomial[1], kernels::kExpPolynomial[2],
                                   kernels::kExpPolynomial[3], kernels::kExpPolynomial[4], kernels::kExpPolynomial[5]};
  if (x < kernels::kExpLowest) return 0;
  if (!(x <= kernels::kExpHighest)) x = x > kernels::kExpHighest ? kernels::kExpHighest : NAN;
  const float power = rintf(x * kernels::kLog2E);
  const float rest = fmaf(power, kernels::kMinusLn2Low, fmaf(power, kernels::kMinusLn2High, x));
  float sum = kPolynomial[0];
#pragma unroll
  for (int i = 1; i < 6; ++i) sum = fmaf(sum, rest, kPolynomial[i]);
  const float fraction = fmaf(sum, rest * rest, rest) + 1.0f;
  if (x != x) return x;
  return fraction * float_of(static_cast<uint32_t>(static_cast<int32_t>(power) + 127) << 23);
}

__device__ __forceinline__ float tanh_f32(float x) {
  constexpr float kPolynomial[] = {kernels::kTanhPolynomial[0], kernels::kTanhPolynomial[1],
                                   kernels::kTanhPolynomial[2], kernels::kTanhPolynomial[3],
                                   kernels::kTanhPolynomial[4]};
  const float size = fabsf(x), square = size * size, sign = x < 0 ? -1.0f : 1.0f;
  if (!(size < kernels::kTanhSmall)) return (1.0f - 2.0f / (exp_f32(size * 2.0f) + 1.0f)) * sign;
  float sum = kPolynomial[0];
#pragma unroll
  for (int i = 1; i < 5; ++i) sum = fmaf(sum, square, kPolynomial[i]);
  return fmaf(sum * square, size, size) * sign;
}

}  // namespace seekrl::cuda
