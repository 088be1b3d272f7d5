// Keys that neighbours in a batch begin with, so that a GPU reads them once for the rows of several sequences.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/cuda/attention/paged.h"

namespace seekrl::engine {

// One sequence of a batch, its rows behind those of the one before.
struct BatchSequence {
  std::span<const int32_t> blocks;
  int64_t num_before;  // tokens before those of its rows
  int64_t num_rows;
};

// As cuda::PagedAttention has them; both empty where nothing is shared.
struct SharedPrefixes {
  std::vector<cuda::AttentionTile> tiles;
  std::vector<int32_t> keys_S;
};

// Neighbours that begin with the same blocks, samples of one prompt or forks, are a group: what it shares is what its
// first two do, as far as whole splits go. tile_positions: rows of a tile for one key head; of fewer than 2 nothing is
// read less often. Reads as many block numbers as neighbours have in common.
SharedPrefixes shared_prefixes(std::span<const BatchSequence> batch, int64_t block_tokens, int64_t tile_positions);

}  // namespace seekrl::engine
