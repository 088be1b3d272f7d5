// Scratch is libtorch's, which gives the next layer the same.
#include "ops/card/paged_attention.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>

#include <algorithm>

#include "ops/card/card.h"

namespace seekrl::ops {

namespace {

constexpr int64_t kMostScratch = int64_t{1} << 26;

// At least a tile's.
int64_t part_rows(int64_t num_heads, int64_t head_dim, int64_t max_keys) {
  const int64_t of_row = card().paged_attention_scratch_floats(1, num_heads, head_dim, max_keys);
  return std::max<int64_t>(cuda::kTileRows, kMostScratch / of_row);
}

}  // namespace

int64_t paged_scratch_floats(int64_t num_rows, int64_t num_heads, int64_t head_dim, int64_t max_keys) {
  const int64_t most = std::min(num_rows, part_rows(num_heads, head_dim, max_keys));
  return card().paged_attention_scratch_floats(most, num_heads, head_dim, max_keys);
}

void card_paged_attention(cuda::PagedAttention call, const std::vector<int32_t>& tile_rows, const at::Tensor& on) {
  const int64_t rows = part_rows(call.num_heads, call.head_dim, call.max_keys);
  const int64_t num_scratch = paged_scratch_floats(call.num_rows, call.num_heads, call.head_dim, call.max_keys);
  const at::Tensor scratch = at::empty({num_scratch}, on.options().dtype(at::kFloat));
  call.scratch = scratch.mutable_data_ptr<float>();
  if (call.num_rows <= rows) return check(card().paged_attention(call, stream_of(on)));
  // A tile of shared keys may have rows of two parts.
  call.num_shared_tiles = 0;
  call.shared_keys_S = nullptr;
  const cuda::AttentionTile* const tiles = call.tiles;
  for (size_t first = 0, end = 0; first < tile_rows.size(); first = end) {
    call.first_row = tile_rows[first];
    // Tiles whose rows, up to the next tile's, all lie in the part.
    const auto behind = [&](size_t tile) { return tile + 1 < tile_rows.size() ? tile_rows[tile + 1] : call.num_rows; };
    for (end = first + 1; end < tile_rows.size() && behind(end) - call.first_row <= rows; ++end) {
    }
    call.end_row = behind(end - 1);
    call.tiles = tiles + first;
    call.num_tiles = static_cast<int64_t>(end - first);
    check(card().paged_attention(call, stream_of(on)));
  }
}

}  // namespace seekrl::ops
