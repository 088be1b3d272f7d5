// When the cache has memory, and how much.
#include <c10/util/Exception.h>

#include <algorithm>
#include <sstream>

#include "base/error.h"
#include "base/pages.h"
#include "engine/engine.h"
#include "engine/follow/step_command.h"
#include "engine/memory/shared_cache.h"
#include "engine/memory/step_bytes.h"
#include "ops/gpu/memory.h"
#include "ops/gpu/products/quant.h"

namespace seekrl::engine {

namespace {

constexpr int64_t kUsualBytes = int64_t{1} << 30;  // on the CPU

// What sequences had on a GPU has room on the host for so many caches, but no more than such a share of its memory.
constexpr int64_t kHostCaches = 4, kHostShare = 4;

std::exception_ptr too_long(const Sequence& sequence, int64_t num_tokens) {
  std::ostringstream text;
  text << "generate: expected a sequence of at most " << num_tokens << " tokens, for which the GPU has room now, got "
       << sequence.num_needed() << "; close what else is on the GPU, or train fewer weights on it";
  return std::make_exception_ptr(Error(ErrorCode::kMemory, text.str()));
}

}  // namespace

// Of those that are not asked for by number, no more than all sequences of a step can need.
int64_t Engine::wanted_blocks() const {
  if (options_.num_blocks > 0) return options_.num_blocks;
  const at::Device device = decoder_->device();
  int64_t num_bytes = options_.cache_bytes;
  if (num_bytes == 0 && device.is_cpu()) num_bytes = kUsualBytes;
  if (num_bytes == 0) num_bytes = room_beside_step(device, bytes_beside_cache());
  return blocks_in(num_bytes, pool_, pool_.blocks_for(options_.max_tokens) * options_.limits.max_batch_rows);
}

// Of a GPU.
int64_t Engine::bytes_beside_cache() const {
  const int64_t scratch = decoder_->quantised().empty() ? 0 : ops::kQuantScratch;
  return scratch + step_bytes(decoder_->config(), {options_.limits, options_.max_tokens});
}

// Whatever else is on the GPU by now, half as many as often as it takes: sequences go on with fewer.
void Engine::take_cache() {
  if (pool_.has_storage()) return;
  scheduler_.forget_rows();
  if (is_shared()) return take_shared_cache();
  for (int64_t num_blocks = wanted_blocks();; num_blocks /= 2) {
    try {
      pool_.take_storage(num_blocks);
      break;
    } catch (const c10::OutOfMemoryError&) {
      if (num_blocks == 1) throw;
      ops::release_cached(decoder_->device());
    }
  }
  if (decoder_->device().is_cpu()) return;
  const auto host = static_cast<int64_t>(memory_bytes()) / kHostShare;
  swap_.set_room(std::min(kHostCaches * pool_.num_blocks() * pool_.block_bytes(), host));
}

// What sequences had in it is computed again: other ranks have no host memory for theirs.
void Engine::take_shared_cache() {
  const bool is_measured = options_.num_blocks == 0 && options_.cache_bytes == 0 && !decoder_->device().is_cpu();
  const WantedCache wanted = {wanted_blocks(), is_measured ? bytes_beside_cache() : 0};
  decoder_->parallel().together([&] { return cache_command(number_, wanted); },
                                [&] { take_alike(pool_, wanted, *decoder_); });
}

// What sequences have in it waits on the host; what is under way runs again.
void Engine::release_cache() {
  if (decoder_->device().is_cpu()) return pool_.release_free();
  if (!pool_.has_storage()) return;
  if (flight_) flight_->release();
  drop_stale_caches();
  for (const auto& [id, sequence] : sequences_) scheduler_.swap_out(*sequence);
  pool_.drop_storage();
  ops::release_cached(decoder_->device());
}

// A pool that was taken back may be smaller than it was.
void Engine::check_fits() {
  const int64_t num_tokens = pool_.num_blocks() * pool_.block_tokens();
  if (num_tokens >= options_.max_tokens) return;
  for (const auto& [id, sequence] : sequences_) {
    if (sequence->is_active() && sequence->num_needed() > num_tokens)
      fail_row(*sequence, too_long(*sequence, num_tokens));
  }
}

}  // namespace seekrl::engine
