// What low-rank adapters add to a product whose rows go through different ones.
#pragma once

#include <cstdint>

#include "kernels/cuda/status.h"

namespace seekrl::cuda {

// One adapter's part in one product; its numbers are f32 in the adapter, here rounded once to dtype.
struct LowRankPair {
  const void* down_RK;  // in dtype, contiguous, at a multiple of 16 bytes; null: the adapter has no part in it
  const void* up_NR;
  int64_t rank;  // a multiple of 8, at most max_rank
  float scale;
};

// All pointers are to the GPU's memory, the pairs and what they point to too.
struct LowRank {
  void* out_MN;                // in out_dtype
  void* inner_MR;              // scratch in dtype, [M, max_rank], at a multiple of 16 bytes; scale x A^T afterwards
  const void* x_MK;            // in dtype; rows begin at multiples of 16 bytes
  const LowRankPair* pairs_A;  // by adapter
  const int32_t* start_G;      // rows [start_G[g], start_G[g + 1]) of those that there are: a run of neighbours,
  const int32_t* adapter_G;    // which go through this adapter; negative: through none, as rows of no run
  int64_t out_stride, x_stride;
  int64_t m, n, k;             // K: a multiple of 8
  int64_t num_runs, max_rank;  // a multiple of 8
  Dtype dtype;                 // kBf16 or kF16
  Dtype out_dtype;             // dtype, or kFloat
};

// out += (scale x A^T) B^T by the row's adapter, the inner part rounded to dtype: the bits of two products (product.h),
// whichever rows and adapters are beside it. 2 M R (K + N) FLOP in two launches; reads an adapter once for every 16
// rows of it, 64 where there are many, and `out` once.
Status add_low_rank(const LowRank& call, void* stream);

}  // namespace seekrl::cuda
