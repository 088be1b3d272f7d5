// A row of logits as a block of threads reads it, to be drawn from and to be trained on: four threads to 1,024 logits,
// each the four of every sixteen whose sums it keeps. Sums have the order and the bits of kernels/logprob.h where a
// file is compiled without fused multiply-adds.
#pragma once

#include "kernels/cuda/exp.h"
#include "kernels/sampling.h"

namespace seekrl::cuda {

constexpr int kRowThreads = 512;
constexpr int kShareThreads = 4;                      // to a block of weights
constexpr int kShares = kRowThreads / kShareThreads;  // blocks of weights read at once
constexpr int kBlock = static_cast<int>(kernels::kWeightBlock);
// The most logits of a row: Gemma 3 has 262,208.
constexpr int kMaxBlocks = 320;
constexpr int64_t kMaxVocabSize = int64_t{kMaxBlocks} * kBlock;
constexpr float kForbidden = -INFINITY;

struct Logits {
  const float* data;
  int size;
  float softcap;  // a logit x is softcap tanh(x / softcap); 0: x

  __device__ __forceinline__ float capped(float logit) const {
    return softcap > 0 ? softcap * tanh_f32(logit * (1.0f / softcap)) : logit;
  }
  __device__ __forceinline__ float at(int v) const { return capped(data[v]); }
  __device__ __forceinline__ int num_blocks() const { return (size + kBlock - 1) / kBlock; }
};

// -infinity past the row's end. An aligned row begins at a multiple of 16 bytes and may be read up to the next one.
template <bool kIsAligned>
__device__ __forceinline__ void load_four(float (&z)[4], const Logits& logits, int v) {
  if (kIsAligned && v < logits.size) {
    const float4 loaded = *reinterpret_cast<const float4*>(logits.data + v);
    z[0] = loaded.x, z[1] = loaded.y, z[2] = loaded.z, z[3] = loaded.w;
  } else {
#pragma unroll
    for (int j = 0; j < 4; ++j) z[j] = v + j < logits.size ? logits.data[v + j] : kForbidden;
  }
#pragma unroll
  for (int j = 0; j < 4; ++j) z[j] = v + j < logits.size ? logits.capped(z[j]) : kForbidden;
}

// The first of the thread's fours in a block of weights.
__device__ __forceinline__ int first_four(int block) {
  return block * kBlock + static_cast<int>(threadIdx.x) % kShareThreads * 4;
}

// Calls each(v, logits) for the thread's fours of a block of weights, in order. Four loads are under way at once.
template <bool kIsAligned, class Each>
__device__ __forceinline__ void each_four(const Logits& logits, int block, const Each& each) {
  constexpr int kAtOnce = 4, kStep = 16;
  const int end = min((block + 1) * kBlock, logits.size);
  for (int start = first_four(block); start < end; start += kAtOnce * kStep) {
    float z[kAtOnce][4];
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) load_four<kIsAligned>(z[i], logits, start + i * kStep);
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      if (start + i * kStep >= end) break;
      each(start + i * kStep, z[i]);
    }
  }
}

// Calls body(block) for each block of weights of the thread's share, or of another in its warp; a block beyond the end
// has no logits.
template <class Body>
__device__ __forceinline__ void each_block(const Logits& logits, const Body& body) {
  const int share = static_cast<int>(threadIdx.x) / kShareThreads, of_warp = share / 8 * 8;
  for (int start = 0; start + of_warp < logits.num_blocks(); start += kShares) body(start + share);
}

// How logits become weights.
struct Scale {
  float inverse_temperature, max;  // max: of logit * inverse_temperature
};
__device__ __forceinline__ float shifted(const Scale& scale, float logit) {
  return fmaf(logit, scale.inverse_temperature, -scale.max);
}
__device__ __forceinline__ float weight_of(const Scale& scale, float logit) { return exp_f32(shifted(scale, logit)); }

__device__ __forceinline__ void add_weighted(float& total, float& weighted, const Scale& scale, float logit) {
  const float z = shifted(scale, logit), e = exp_f32(z);
  total += e;
  // -infinity times zero is none of the entropy.
  if (e != 0) weighted = fmaf(z, e, weighted);
}

// Puts the sum of a block of weights at its place, by the tree that adds 16 sums by index mod 16; the whole warp calls.
__device__ __forceinline__ void put_sum(float* sums, const Logits& logits, int block, float (&own)[4]) {
#pragma unroll
  for (int distance = 2; distance > 0; distance /= 2) {
#pragma unroll
    for (int j = 0; j < 4; ++j) own[j] += __shfl_xor_sync(~0u, own[j], distance);
  }
  const float sum = (own[0] + own[2]) + (own[1] + own[3]);
  if (threadIdx.x % kShareThreads == 0 && block * kBlock < logits.size) sums[block] = sum;
}

// Each of the sums over all blocks, in their order; a warp has one. Barriers: one before, by the caller, one after.
template <int kCount>
__device__ __forceinline__ void add_blocks(double* totals, const float (*sums)[kMaxBlocks], const Logits& logits) {
  const int which = static_cast<int>(threadIdx.x) / 32;
  if (which < kCount && threadIdx.x % 32 == 0) {
    double sum = 0;
    for (int block = 0; block < logits.num_blocks(); ++block) sum += sums[which][block];
    totals[which] = sum;
  }
  __syncthreads();
}

__device__ __forceinline__ float entropy_of(double total, double weighted) {
  return static_cast<float>(log(total) - weighted / total);
}

}  // namespace seekrl::cuda
