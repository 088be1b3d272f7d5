// A row of logits edited on the way to a draw: masks, biases and penalties.
#pragma once

#include "kernels/cuda/logits.cuh"
#include "kernels/cuda/sampling/sampler.h"

namespace seekrl::cuda {

struct Row {
  Logits logits;
  SampleRow options;
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
  float logit = row.logits.at(v);
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

// Calls each(v, logits, edited) for the thread's fours of a block of weights, in order.
template <bool kIsAligned, class Each>
__device__ __forceinline__ void each_edited_four(const Row& row, int block, const Each& each) {
  int e = row.options.num_edits;
  if (e > 0 && first_four(block) < row.logits.size) e = first_edit(row.options, first_four(block));
  each_four<kIsAligned>(row.logits, block, [&](int v, const float (&z)[4]) {
    float edited[4] = {z[0], z[1], z[2], z[3]};
    if (row.is_edited) {
      while (e < row.options.num_edits && row.options.edits[e].token < v) ++e;
      edit_four(edited, row, v, e);
    }
    each(v, z, edited);
  });
}

}  // namespace seekrl::cuda
