// Attention over blocks on a card within bounded scratch.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "kernels/cuda/attention/paged.h"

namespace seekrl::ops {

// Floats for so many rows, or for as many as are attended at once.
int64_t paged_scratch_floats(int64_t num_rows, int64_t num_heads, int64_t head_dim, int64_t max_keys);

// As cuda::paged_attention, its rows in parts of which each finds room in 256 MB of scratch; no bit depends on the
// parts. tile_rows: the first row of each tile, in ascending order. Keys that are shared are read for each part.
void card_paged_attention(cuda::PagedAttention call, const std::vector<int32_t>& tile_rows, const at::Tensor& on);

}  // namespace seekrl::ops
