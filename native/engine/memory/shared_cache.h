// The cache of an engine whose model several ranks share: as many blocks on each, which hold its own heads.
#pragma once

#include <cstdint>

#include "engine/memory/block_pool.h"
#include "model/decoder.h"

namespace seekrl::engine {

struct WantedCache {
  int64_t num_blocks;      // at most
  int64_t step_bytes = 0;  // what a step takes beside them, where each GPU has to say for how many it has room; else 0
};

// Blocks that `num_bytes` hold, at least one and no more than `most`.
int64_t blocks_in(int64_t num_bytes, const BlockPool& pool, int64_t most);

// Takes the memory, what was there before is gone; all ranks call it. They get what the one with least room has.
// ERR_MEMORY where that is none.
void take_alike(BlockPool& pool, const WantedCache& wanted, const model::Decoder& decoder);

}  // namespace seekrl::engine
