// A row of logits as a block of threads reads it: four threads to 1,024 logits, each the four of every sixteen whose
// sums it keeps, edited on the way.
#pragma once

#include "kernels/cuda/exp.h"
#include "kernels/cuda/sampling/sampler.h"
#include "kernels/sampling.h"

namespace seekrl::cuda {

constexpr int kThreads = 512;
constexpr int kShareThreads = 4;                   // to a block of weights
constexpr int kShares = kThreads / kShareThreads;  // blocks of weights read at once
constexpr int kBlock = static_cast<int>(kernels::kWeightBlock);
constexpr int kMaxBlocks = static_cast<int>(kMaxVocabSize / kernels::kWeightBlock);
constexpr float kForbidden = -INFINITY;

struct Row {
  const float* logits;
  SampleRow options;
  int vocab_size;
  bool is_edited;
};

__device__ __forceinline__ float edit(const SampleRow& options, const LogitEdit& change, float logit) {
  logit += change.bias;
  if (change.num_said < 0) return logit;
  logit = logit < 0 ? logit * options.repetition : logit / options.repetition;
  if (change.num_said == 0) return logit;
  logit -= options.frequency * static_cast<float>(change.num_said);
  return logit - options.presence;
}

// The first edit of `token` or one after it.
__device__ __forceinline__ int first_edit(const SampleRow& options, int token) {
  int low = 0, high = options.num_edits;
  while (low < high) {
    const int middle = (low + high) / 2;
    if (options.edits[middle].token < token) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

__device__ __forceinline__ float edited_logit(const Row& row, int v) {
  float logit = row.logits[v];
  if (row.options.mask != nullptr && (row.options.mask[v / 32] >> v % 32 & 1) == 0) logit = kForbidden;
  const int e = first_edit(row.options, v);
  const bool has_edit = e < row.options.num_edits && row.options.edits[e].token == v;
  return has_edit ? edit(row.options, row.options.edits[e], logit) : logit;
}

// Edits four neighbours; `e` is the first edit that is not behind them yet, and moves on.
__device__ __forceinline__ void edit_four(float (&z)[4], const Row& row, int v, int& e) {
  const SampleRow& options = row.options;
  if (options.mask != nullptr) {
    const uint32_t allowed = options.mask[v / 32] >> v % 32;
#pragma unroll
    for (int j = 0; j < 4; ++j) z[j] = (allowed >> j & 1) != 0 ? z[j] : kForbidden;
  }
  for (; e < options.num_edits && options.edits[e].token < v + 4; ++e) {
    const LogitEdit change = options.edits[e];
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      if (change.token == v + j) z[j] = edit(options, change, z[j]);
    }
  }
}

template <bool kIsAligned>
__device__ __forceinline__ void load_four(float (&z)[4], const Row& row, int v) {
  if constexpr (kIsAligned) {
    if (v < row.vocab_size) {
      const float4 loaded = *reinterpret_cast<const float4*>(row.logits + v);
      z[0] = loaded.x, z[1] = loaded.y, z[2] = loaded.z, z[3] = loaded.w;
      return;
    }
  }
#pragma unroll
  for (int j = 0; j < 4; ++j) z[j] = v + j < row.vocab_size ? row.logits[v + j] : kForbidden;
}

// Calls each(v, logits, edited) for the thread's fours of a block of weights, in order; beyond the row's end logits are
// -infinity. Four loads are under way at once.
template <bool kIsAligned, class Each>
__device__ __forceinline__ void each_four(const Row& row, int block, const Each& each) {
  constexpr int kAtOnce = 4, kStep = 16;
  const int first = block * kBlock + static_cast<int>(threadIdx.x) % kShareThreads * 4;
  const int end = min((block + 1) * kBlock, row.vocab_size);
  int e = row.options.num_edits;
  if (e > 0 && first < end) {
    e = first_edit(row.options, first);
  }
  for (int start = first; start < end; start += kAtOnce * kStep) {
    float z[kAtOnce][4];
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) load_four<kIsAligned>(z[i], row, start + i * kStep);
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      const int v = start + i * kStep;
      if (v >= end) break;
      float edited[4] = {z[i][0], z[i][1], z[i][2], z[i][3]};
      if (row.is_edited) {
        while (e < row.options.num_edits && row.options.edits[e].token < v) ++e;
        edit_four(edited, row, v, e);
      }
      each(v, z[i], edited);
    }
  }
}

// Calls body(block) for each block of weights of the thread's share, or of another in its warp; a block beyond the end
// has no logits.
template <class Body>
__device__ __forceinline__ void each_block(const Row& row, const Body& body) {
  const int share = static_cast<int>(threadIdx.x) / kShareThreads, of_warp = share / 8 * 8;
  const int num_blocks = (row.vocab_size + kBlock - 1) / kBlock;
  for (int start = 0; start + of_warp < num_blocks; start += kShares) body(start + share);
}

// The tree that adds 16 sums by index mod 16; the whole warp calls.
__device__ __forceinline__ float join(float (&sums)[4]) {
#pragma unroll
  for (int distance = 2; distance > 0; distance /= 2) {
#pragma unroll
    for (int j = 0; j < 4; ++j) sums[j] += __shfl_xor_sync(~0u, sums[j], distance);
  }
  return (sums[0] + sums[2]) + (sums[1] + sums[3]);
}

// How logits become weights.
struct Scale {
  float inverse_temperature, max;  // max: of logit * inverse_temperature
};
__device__ __forceinline__ float shifted(const Scale& scale, float logit) {
  return fmaf(logit, scale.inverse_temperature, -scale.max);
}
__device__ __forceinline__ float weight_of(const Scale& scale, float logit) { return exp_f32(shifted(scale, logit)); }

}  // namespace seekrl::cuda
