// One pass over the batch; a group ends where a neighbour shares less.
#include "engine/attention/shared_prefix.h"

#include <algorithm>

namespace seekrl::engine {

namespace {

// Of two neighbours, in whole splits of tokens that both have behind them.
int64_t shared_keys(const BatchSequence& a, const BatchSequence& b, int64_t block_tokens) {
  const auto [end, other] = std::mismatch(a.blocks.begin(), a.blocks.end(), b.blocks.begin(), b.blocks.end());
  const int64_t same = (end - a.blocks.begin()) * block_tokens;
  return std::min({same, a.num_before, b.num_before}) / cuda::kSplitTokens * cuda::kSplitTokens;
}

void add_tiles(SharedPrefixes& shared, size_t sequence, int64_t first_row, int64_t num_rows, int64_t num_keys,
               int64_t tile_positions) {
  for (int64_t row = 0; row < num_rows; row += tile_positions) {
    shared.tiles.push_back({static_cast<int32_t>(sequence), static_cast<int32_t>(first_row + row),
                            static_cast<int32_t>(std::min(tile_positions, num_rows - row)),
                            static_cast<int32_t>(num_keys)});
  }
}

}  // namespace

SharedPrefixes shared_prefixes(std::span<const BatchSequence> batch, int64_t block_tokens, int64_t tile_positions) {
  SharedPrefixes shared;
  if (tile_positions < 2) return shared;
  int64_t row = 0;
  for (size_t first = 0; first < batch.size();) {
    int64_t num_rows = batch[first].num_rows;
    size_t end = first + 1;
    const int64_t keys = end < batch.size() ? shared_keys(batch[first], batch[end], block_tokens) : 0;
    for (; keys > 0 && end < batch.size() && shared_keys(batch[end - 1], batch[end], block_tokens) >= keys; ++end) {
      num_rows += batch[end].num_rows;
    }
    if (keys > 0) {
      shared.keys_S.resize(batch.size());
      std::fill(shared.keys_S.begin() + first, shared.keys_S.begin() + end, static_cast<int32_t>(keys));
      add_tiles(shared, first, row, num_rows, keys, tile_positions);
    }
    row += num_rows;
    first = end;
  }
  return shared;
}

}  // namespace seekrl::engine
