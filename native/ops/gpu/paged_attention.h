// Attention over blocks on a GPU within bounded scratch.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>

#include "kernels/cuda/attention/paged.h"

namespace seekrl::ops {

// Floats for so many rows, or for as many as are attended at once.
int64_t paged_scratch_floats(int64_t num_rows, int64_t num_heads, int64_t head_dim, int64_t max_keys);

// As cuda::paged_attention for the rows of call.tiles, which are `tiles` on the host, in ascending order: in parts of
// rows that lie together and find room in 256 MB of scratch; no bit depends on the parts. Keys that are shared are read
// for each where there are several.
void gpu_paged_attention(cuda::PagedAttention call, std::span<const cuda::AttentionTile> tiles, const at::Tensor& on);

}  // namespace seekrl::ops
