// Scratch is libtorch's, which gives the next layer the same.
#include "ops/gpu/paged_attention.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <vector>

#include "ops/gpu/gpu.h"

namespace seekrl::ops {

namespace {

constexpr int64_t kMostScratch = int64_t{1} << 26;

// At least a tile's.
int64_t part_rows(int64_t num_heads, int64_t head_dim, int64_t max_keys) {
  const int64_t of_row = gpu().paged_attention_scratch_floats(1, num_heads, head_dim, max_keys);
  return std::max<int64_t>(cuda::kTileRows, kMostScratch / of_row);
}

// Neighbouring tiles whose rows are attended at once.
struct Part {
  int64_t first_row, end_row, num_tiles;
};
std::vector<Part> parts_of(std::span<const cuda::AttentionTile> tiles, int64_t most_rows) {
  std::vector<Part> parts;
  for (const cuda::AttentionTile& tile : tiles) {
    const int64_t end = tile.first_row + tile.num_positions;
    const bool goes_on = !parts.empty() && parts.back().end_row == tile.first_row;
    if (!goes_on || end - parts.back().first_row > most_rows) parts.push_back({tile.first_row, end, 0});
    parts.back().end_row = end;
    ++parts.back().num_tiles;
  }
  return parts;
}

}  // namespace

int64_t paged_scratch_floats(int64_t num_rows, int64_t num_heads, int64_t head_dim, int64_t max_keys) {
  const int64_t most = std::min(num_rows, part_rows(num_heads, head_dim, max_keys));
  return gpu().paged_attention_scratch_floats(most, num_heads, head_dim, max_keys);
}

void gpu_paged_attention(cuda::PagedAttention call, std::span<const cuda::AttentionTile> tiles, const at::Tensor& on) {
  const std::vector<Part> parts = parts_of(tiles, part_rows(call.num_heads, call.head_dim, call.max_keys));
  int64_t num_scratch = 0;
  for (const Part& part : parts) {
    num_scratch =
        std::max(num_scratch, gpu().paged_attention_scratch_floats(part.end_row - part.first_row, call.num_heads,
                                                                   call.head_dim, call.max_keys));
  }
  const at::Tensor scratch = at::empty({num_scratch}, on.options().dtype(at::kFloat));
  call.scratch = scratch.mutable_data_ptr<float>();
  // A tile of shared keys may have rows of two parts.
  if (parts.size() > 1) {
    call.num_shared_tiles = 0;
    call.shared_keys_S = nullptr;
  }
  for (const Part& part : parts) {
    call.first_row = part.first_row;
    call.end_row = part.end_row;
    call.num_tiles = part.num_tiles;
    require_launched(gpu().paged_attention(call, stream_of(on)));
    call.tiles += part.num_tiles;
  }
}

}  // namespace seekrl::ops
