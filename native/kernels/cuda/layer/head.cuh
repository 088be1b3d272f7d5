// One head of one token in a warp's registers: lane l has channels 2 l and 2 l + 1 of each 64.
#pragma once

#include "kernels/cuda/layer/rotate.h"
#include "kernels/cuda/number.h"
#include "kernels/cuda/reduce.h"

namespace seekrl::cuda {

constexpr int kHeadWarps = 4, kMaxHeadDim = 256, kPairs = kMaxHeadDim / 64;

// Calls body(i, c) for each of the lane's pairs of channels, c and c + 1.
template <class Body>
__device__ __forceinline__ void each_pair(int width, const Body& body) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
  for (int i = 0; i < kPairs; ++i) {
    const int c = i * 64 + lane * 2;
    if (c < width) body(i, c);
  }
}

template <class Number>
__device__ __forceinline__ float2 pair_at(const void* numbers, int64_t at) {
  const uint32_t pair = *reinterpret_cast<const uint32_t*>(static_cast<const Number*>(numbers) + at);
  return {unpack<Number>(pair, 0), unpack<Number>(pair, 1)};
}

template <class Number>
__device__ __forceinline__ void store_head(void* numbers, int64_t at, const float2 (&x)[kPairs], int width) {
  each_pair(width, [&](int i, int c) {
    *reinterpret_cast<uint32_t*>(static_cast<Number*>(numbers) + at + c) = pack<Number>(x[i].x, x[i].y);
  });
}

// A projection's head with its bias.
template <class Number>
__device__ __forceinline__ void load_head(float2 (&x)[kPairs], const ProjectedHeads& part, int64_t token, int64_t head,
                                          int width) {
  each_pair(width, [&](int i, int c) {
    x[i] = pair_at<Number>(part.data, token * part.stride + head * width + c);
    if (part.bias == nullptr) return;
    const float2 bias = pair_at<Number>(part.bias, head * width + c);
    x[i].x += bias.x;
    x[i].y += bias.y;
  });
}

// What a norm multiplies the head with.
__device__ __forceinline__ float norm_scale(const float2 (&x)[kPairs], int width, float epsilon) {
  float squares = 0;
  each_pair(width, [&](int i, int) { squares += x[i].x * x[i].x + x[i].y * x[i].y; });
  return rsqrtf(reduce_warp<Sum>(squares) / static_cast<float>(width) + epsilon);
}

// Turns pairs by the token's angles times `sign`. A channel's partner lies F away, in another lane: through the warp's
// part of shared memory.
__device__ __forceinline__ void turn(float2 (&x)[kPairs], const RotaryTables& tables, int64_t token, float sign,
                                     int width, float* shared) {
  const int half = static_cast<int>(tables.num_frequencies);
  const int64_t angles = token * half;
  each_pair(width, [&](int i, int c) { *reinterpret_cast<float2*>(shared + c) = x[i]; });
  __syncwarp();
  const auto turned = [&](int c, float own) {
    if (c >= 2 * half) return own;
    const int f = c < half ? c : c - half;
    const float partner = shared[c < half ? c + half : c - half];
    const float sin = sign * tables.sin_TF[angles + f];
    return own * tables.cos_TF[angles + f] + (c < half ? -partner * sin : partner * sin);
  };
  each_pair(width, [&](int i, int c) {
    x[i].x = turned(c, x[i].x);
    x[i].y = turned(c + 1, x[i].y);
  });
  __syncwarp();
}

}  // namespace seekrl::cuda
