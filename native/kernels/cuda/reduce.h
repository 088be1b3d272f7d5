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

}  // namespace seekrl::cuda
