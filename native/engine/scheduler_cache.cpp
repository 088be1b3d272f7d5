// What a sequence has cached: found, named, kept on the host, dropped.
#include <algorithm>
#include <utility>

#include "engine/scheduler.h"

namespace seekrl::engine {

void Scheduler::drop_cache(Sequence& sequence) {
  release_blocks(sequence);
  sequence.swapped.reset();
  sequence.num_swapped = 0;
}

void Scheduler::swap_out(Sequence& sequence) {
  if (sequence.num_cached > 0) {
    const auto end = sequence.blocks.begin() + pool_.blocks_for(sequence.num_cached);
    sequence.swapped = swap_.swap_out(pool_, {sequence.blocks.begin(), end});
    sequence.num_swapped = sequence.swapped == nullptr ? 0 : sequence.num_cached;
    ++(sequence.swapped == nullptr ? num_preemptions_ : num_swapped_);
  }
  release_blocks(sequence);
}

void Scheduler::release_blocks(Sequence& sequence) {
  for (; !sequence.blocks.empty(); sequence.blocks.pop_back()) pool_.release(sequence.blocks.back());
  sequence.prefixes.clear();
  sequence.num_cached = 0;
}

void Scheduler::forget(Sequence& sequence) {
  for (const int32_t block : sequence.blocks) pool_.forget(block);
  drop_cache(sequence);
}

void Scheduler::remember() {
  for (const Row& row : rows_) name_prefixes(*row.sequence);
}

void Scheduler::name_prefixes(Sequence& sequence) {
  const int64_t size = pool_.block_tokens();
  auto& prefixes = sequence.prefixes;
  for (auto i = static_cast<int64_t>(prefixes.size()); (i + 1) * size <= sequence.num_cached; ++i) {
    const PrefixCache::Name before = i == 0 ? sequence.root() : prefixes.back();
    prefixes.push_back(pool_.add_prefix(before, sequence.tokens.data() + i * size, sequence.blocks[i]));
  }
}

// Only in front of blocks that are its own already: those would have to move.
void Scheduler::take_prefix(Sequence& sequence) {
  const int64_t size = pool_.block_tokens();
  auto& prefixes = sequence.prefixes;
  while (static_cast<int64_t>(sequence.blocks.size()) * size == sequence.num_cached &&
         sequence.num_cached + size <= sequence.num_reusable()) {
    const PrefixCache::Name before = prefixes.empty() ? sequence.root() : prefixes.back();
    const auto found = pool_.prefixes().find(before, sequence.tokens.data() + sequence.num_cached);
    if (!found) return;
    pool_.share(found->block);
    sequence.blocks.push_back(found->block);
    prefixes.push_back(found->name);
    sequence.num_cached += size;
  }
}

// What it had on the host, behind the prefix that is found on the GPU. Others that begin alike find it here.
void Scheduler::swap_in(Sequence& sequence) {
  const auto swapped = std::exchange(sequence.swapped, nullptr);
  const int64_t num_tokens = std::min(std::exchange(sequence.num_swapped, 0), sequence.num_reusable());
  if (swapped == nullptr || num_tokens <= sequence.num_cached) return;
  const auto end = sequence.blocks.begin() + pool_.blocks_for(num_tokens);
  if (!swap_.swap_in(pool_, *swapped, {sequence.blocks.begin(), end}, pool_.blocks_for(sequence.num_cached))) {
    ++num_preemptions_;
    return;
  }
  sequence.num_cached = num_tokens;
  name_prefixes(sequence);
}

}  // namespace seekrl::engine
