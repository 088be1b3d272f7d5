// Sums and maxima over the threads of a warp or a block, in one order whatever else runs.
#pragma once

#include "kernels/cuda/device.h"

namespace seekrl::cuda {

struct Sum {
  __device__ __forceinline__ float operator()(float a, float b) const { return a + b; }
};
struct Max {
  __device__ __forceinline__ float operator()(float a, float b) const { return fmaxf(a, b); }
};

// All lanes get the bits of the same tree.
template <class Join, int kLanes = 32>
__device__ __forceinline__ float reduce_warp(float value) {
#pragma unroll
  for (int distance = kLanes / 2; distance > 0; distance /= 2) {
    value = Join()(value, __shfl_xor_sync(~0u, value, distance));
  }
  return value;
}

// All threads get it. `parts`: kThreads / 32 floats of shared memory, which the block may use again after its next
// barrier.
template <class Join, int kThreads>
__device__ __forceinline__ float reduce_block(float value, float* parts) {
  value = reduce_warp<Join>(value);
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = value;
  __syncthreads();
  float all = parts[0];
#pragma unroll
  for (int i = 1; i < kThreads / 32; ++i) all = Join()(all, parts[i]);
  return all;
}

// How many of what a block's threads hold, kEach a thread, stand before each of its own, in the order of warps, of
// kEach and of lanes, and how many there are. `counts`: kThreads / 32 integers of shared memory. Barriers: one before
// they are written, one after; the whole block calls.
template <int kEach>
struct Ranks {
  int before[kEach], all;
};
template <int kThreads, int kEach>
__device__ __forceinline__ Ranks<kEach> rank_in_block(const bool (&holds)[kEach], int* counts) {
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const uint32_t lower = (1u << threadIdx.x % 32) - 1;
  Ranks<kEach> ranks = {};
  int own = 0;
#pragma unroll
  for (int i = 0; i < kEach; ++i) {
    const uint32_t holding = __ballot_sync(~0u, holds[i]);
    ranks.before[i] = own + __popc(holding & lower);
    own += __popc(holding);
  }
  __syncthreads();
  if (threadIdx.x % 32 == 0) counts[warp] = own;
  __syncthreads();
  int before = 0;
#pragma unroll
  for (int i = 0; i < kThreads / 32; ++i) {
    if (i < warp) before += counts[i];
    ranks.all += counts[i];
  }
#pragma unroll
  for (int i = 0; i < kEach; ++i) ranks.before[i] += before;
  return ranks;
}

}  // namespace seekrl::cuda
