// Half as many as often as it takes, on all ranks together.
#include "engine/memory/shared_cache.h"

#include <c10/util/Exception.h>

#include <algorithm>

#include "base/error.h"
#include "engine/memory/step_bytes.h"
#include "ops/gpu/memory.h"

namespace seekrl::engine {

namespace {

bool has_taken(BlockPool& pool, int64_t num_blocks, at::Device device) {
  try {
    pool.take_storage(num_blocks);
    return true;
  } catch (const c10::OutOfMemoryError&) {
    ops::release_cached(device);
    return false;
  }
}

}  // namespace

int64_t blocks_in(int64_t num_bytes, const BlockPool& pool, int64_t most) {
  return std::clamp<int64_t>(num_bytes / pool.block_bytes(), 1, most);
}

void take_alike(BlockPool& pool, const WantedCache& wanted, const model::Decoder& decoder) {
  const at::Device device = decoder.device();
  if (pool.has_storage()) pool.drop_storage();
  int64_t own = wanted.num_blocks;
  if (wanted.step_bytes > 0) own = blocks_in(room_beside_step(device, wanted.step_bytes), pool, own);
  for (int64_t num_blocks = decoder.parallel().least(own);; num_blocks /= 2) {
    require(num_blocks > 0, ErrorCode::kMemory,
            "tensor parallelism: generate: expected room for a block of keys and values on the GPU of each rank; close "
            "what else is on it");
    if (decoder.parallel().least(has_taken(pool, num_blocks, device) ? 1 : 0) == 1) return;
    if (pool.has_storage()) pool.drop_storage();
  }
}

}  // namespace seekrl::engine
