// AdamW over all parameters in one launch, and the norm of their gradients.
#pragma once

#include <cstdint>

#include "kernels/adamw.h"
#include "kernels/cuda/status.h"
#include "kernels/dynamic_map.h"

namespace seekrl::cuda {

// All pointers are to the GPU's memory, those within the slices too. Slice s has the blocks of kMomentBlock elements
// from first_block_S[s] to first_block_S[s + 1] (excluded); first_block_S has num_slices + 1 numbers.
struct AdamWCall {
  const kernels::AdamWSlice* slices_S;
  const int64_t* first_block_S;
  int64_t num_slices, num_blocks;
  const kernels::DynamicMap* signed_map;  // null where no moment has 8 bits
  const kernels::DynamicMap* unsigned_map;
  kernels::AdamWStep step;
  // The square of the gradients' norm, when not null: gradients are divided by norm / max_norm as well where that is
  // more than 1. It stays on the GPU: nothing waits for it.
  const double* squared_norm;
  float max_norm;
};

// kernels/adamw.h with its bits. A block of threads has one block of elements.
Status adamw(const AdamWCall& call, void* stream);

// The sum of the squares of the gradients of all slices, in f64, in the order of elements within blocks and of blocks
// within kSquareGroups groups. `scratch`: kSquareGroups doubles.
constexpr int64_t kSquareGroups = 1024;
Status squared_norm(double* sum, double* scratch, const kernels::AdamWSlice* slices_S, const int64_t* first_block_S,
                    int64_t num_slices, int64_t num_blocks, void* stream);

}  // namespace seekrl::cuda
