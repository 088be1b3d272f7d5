// Age decides: the oldest sequence always moves on, so every generation ends however small the pool is.
#include "engine/scheduler.h"

#include <algorithm>
#include <utility>

namespace seekrl::engine {

namespace {

// The block the next token is written to is partly full and belongs to others too.
bool must_copy_tail(const Sequence& sequence, const BlockPool& pool) {
  const int64_t tail = sequence.num_cached / pool.block_tokens();
  return tail < static_cast<int64_t>(sequence.blocks.size()) && pool.is_shared(sequence.blocks[tail]);
}

// No more of them than full blocks.
void keep_prefixes(Sequence& sequence, const BlockPool& pool) {
  const auto num_full = static_cast<size_t>(sequence.num_cached / pool.block_tokens());
  if (sequence.prefixes.size() > num_full) sequence.prefixes.resize(num_full);
}

}  // namespace

void Scheduler::activate(Sequence& sequence) {
  active_.emplace(sequence.id, &sequence);
  if (sequence.parent == nullptr || sequence.waits_for_parent) return;
  sequence.waits_for_parent = true;
  Sequence& parent = *sequence.parent;
  if (!parent.is_active()) parent.num_reused = -1;
  ++parent.num_waiting_forks;
  parent.num_wanted = std::max(parent.num_wanted, sequence.num_shared);
  activate(parent);
}

void Scheduler::deactivate(Sequence& sequence) {
  if (!sequence.waits_for_parent || sequence.is_active()) return;
  sequence.waits_for_parent = false;
  Sequence& parent = *sequence.parent;
  if (--parent.num_waiting_forks > 0) return;
  parent.num_wanted = 0;
  deactivate(parent);
}

void Scheduler::remove(Sequence& sequence) {
  if (sequence.parent != nullptr) leave_parent(sequence);
  drop_cache(sequence);
  active_.erase(sequence.id);
  std::erase_if(rows_, [&](const Row& row) { return row.sequence == &sequence; });
}

void Scheduler::leave_parent(Sequence& sequence) {
  const std::shared_ptr<Sequence> parent = std::exchange(sequence.parent, nullptr);
  --parent->num_forks;
  if (!std::exchange(sequence.waits_for_parent, false)) return;
  if (--parent->num_waiting_forks > 0) return;
  parent->num_wanted = 0;
  deactivate(*parent);
}

// Of the leading tokens, those that the parent has on the GPU or the host become the fork's too; the rest it computes
// itself.
void Scheduler::take_share(Sequence& sequence, int64_t num_tokens) {
  const std::vector<int32_t>& blocks = sequence.parent->blocks;
  sequence.swapped = sequence.parent->swapped;
  sequence.num_swapped = std::min(num_tokens, sequence.parent->num_swapped);
  // What the parent has run while the fork waited was not there before.
  const int64_t num_found = sequence.parent->num_reused;
  if (sequence.has_waited && num_found >= 0) sequence.num_reused = std::min(num_tokens, num_found);
  num_tokens = std::min(num_tokens, sequence.parent->num_cached);
  sequence.num_cached = num_tokens;
  sequence.weights_version = sequence.parent->weights_version;
  sequence.blocks.assign(blocks.begin(), blocks.begin() + pool_.blocks_for(num_tokens));
  for (int32_t block : sequence.blocks) pool_.share(block);
  sequence.prefixes = sequence.parent->prefixes;
  keep_prefixes(sequence, pool_);
  leave_parent(sequence);
}

// Before anything is reserved, else what a parent has just cached might be lost to others again.
void Scheduler::hand_over() {
  for (const auto& [id, sequence] : active_) {
    const Sequence* const parent = sequence->parent.get();
    if (parent == nullptr) continue;
    if (std::max(parent->num_cached, parent->num_swapped) >= sequence->num_shared) {
      take_share(*sequence, sequence->num_shared);
    } else {
      sequence->has_waited = true;
    }
  }
}

void Scheduler::truncate(Sequence& sequence, int64_t length) {
  const int64_t num_kept = std::max<int64_t>(0, length - 1);  // the last token is run again: it gives the next logits
  for (const auto& [id, fork] : sequences_) {
    if (sequence.num_forks == 0) break;
    if (fork->parent.get() != &sequence || fork->num_shared <= num_kept) continue;
    take_share(*fork, fork->num_shared);
  }
  sequence.num_wanted = std::min(sequence.num_wanted, num_kept);
  if (sequence.parent != nullptr) {
    sequence.num_shared = std::min(sequence.num_shared, num_kept);
    if (sequence.num_shared == 0) leave_parent(sequence);
  }
  sequence.tokens.resize(length);
  sequence.num_cached = std::min(sequence.num_cached, num_kept);
  sequence.num_swapped = std::min(sequence.num_swapped, num_kept);
  if (sequence.num_swapped == 0) sequence.swapped.reset();
  keep_prefixes(sequence, pool_);
  const auto num_blocks = static_cast<size_t>(pool_.blocks_for(sequence.num_cached));
  for (; sequence.blocks.size() > num_blocks; sequence.blocks.pop_back()) pool_.release(sequence.blocks.back());
}

const std::vector<Row>& Scheduler::next() {
  rows_.clear();
  std::erase_if(active_, [](const auto& each) { return !each.second->is_active(); });
  hand_over();
  num_tokens_ = 0;
  ++step_;
  add_decoding();
  add_prefill();
  // Neighbours of one adapter are one product.
  const auto adapter_of = [](const Row& row) { return row.sequence->adapter ? row.sequence->adapter->id() : 0; };
  std::stable_sort(rows_.begin(), rows_.end(),
                   [&](const Row& a, const Row& b) { return adapter_of(a) < adapter_of(b); });
  num_rows_ = std::ssize(rows_);
  num_left_out_ = std::ssize(active_) - num_rows_;
  num_free_ = pool_.num_free();
  return rows_;
}

// Those that found no place still find none while all rows run and no block has become free.
bool Scheduler::others_may_join() const {
  int64_t num_running = 0, num_others = 0;
  for (const auto& [id, sequence] : active_) {
    if (sequence->is_active()) ++(has_row(*sequence) ? num_running : num_others);
  }
  if (num_others == 0) return false;
  return num_others > num_left_out_ || num_running < num_rows_ || pool_.num_free() > num_free_;
}

bool Scheduler::extend(int64_t num_ahead, int64_t limit) {
  const auto num_missing = [&](const Sequence& sequence) {
    const int64_t num_left = sequence.span.options.max_tokens - sequence.span.num_tokens;
    const int64_t num_tokens = std::min(sequence.num_tokens() + std::min(num_ahead, num_left), limit);
    return std::max<int64_t>(0, pool_.blocks_for(num_tokens) - std::ssize(sequence.blocks));
  };
  int64_t num_blocks = 0;
  if (others_may_join()) return false;
  for (const auto& [id, sequence] : active_) {
    if (has_row(*sequence)) num_blocks += num_missing(*sequence);
  }
  if (num_blocks > pool_.num_free()) return false;
  for (const auto& [id, sequence] : active_) {
    if (!has_row(*sequence)) continue;
    for (int64_t i = num_missing(*sequence); i > 0; --i) sequence->blocks.push_back(pool_.allocate());
  }
  return true;
}

// Blocks that are found are held for a sequence that can begin, not for one that waits for room.
bool Scheduler::begin_prefill(Sequence& sequence, int64_t num_spare) {
  const int64_t num_before = sequence.num_cached;
  take_prefix(sequence);
  if (!reserve(sequence, num_spare, rows_.empty())) {
    if (num_before == 0) release_blocks(sequence);
    return false;
  }
  num_reused_ += sequence.num_cached - num_before;
  swap_in(sequence);
  return true;
}

bool Scheduler::is_full() const {
  return num_tokens_ == limits_.max_batch_tokens || static_cast<int64_t>(rows_.size()) == limits_.max_batch_rows;
}

void Scheduler::add(Sequence& sequence, int64_t num_tokens) {
  // Its tail was full once, when there was more of it.
  const int64_t tail = sequence.num_cached / pool_.block_tokens();
  if (sequence.num_cached % pool_.block_tokens() > 0) pool_.forget(sequence.blocks[tail]);
  const bool is_whole = sequence.is_generating() && num_tokens == sequence.num_pending();
  rows_.push_back({&sequence, num_tokens, is_whole && !sequence.is_scoring() ? 1 + sequence.draft.num_tokens() : 0});
  num_tokens_ += num_tokens;
  sequence.last_step = step_;
  if (sequence.num_reused < 0) sequence.num_reused = sequence.num_cached;
}

void Scheduler::add_decoding() {
  for (const auto& [id, sequence] : active_) {
    if (is_full()) return;
    if (!sequence->is_decoding() || sequence->parent != nullptr) continue;
    draft(*sequence);
    if (reserve(*sequence, 0, true)) add(*sequence, sequence->num_pending());
  }
}

// Only into what is free: no sequence gives way to another's draft, be it for blocks or for a place in the step.
void Scheduler::draft(Sequence& sequence) {
  sequence.draft.extend(sequence.tokens);
  const auto num_others = static_cast<int64_t>(active_.size() - rows_.size());
  const bool is_in_their_way = num_tokens_ + sequence.num_pending() + num_others > limits_.max_batch_tokens;
  if (is_in_their_way || num_missing_blocks(sequence) > pool_.num_free()) sequence.draft.take_off(sequence.tokens);
}

// All blocks of a prefill are reserved when it begins, so that no two half-done ones wait for each other, and one
// block for each decoding row is left free, else the newcomer would be preempted at once.
void Scheduler::add_prefill() {
  const auto num_decoding = static_cast<int64_t>(rows_.size());
  bool is_short_of_blocks = false;
  for (const auto& [id, sequence] : active_) {
    if (is_full()) return;
    if (has_row(*sequence) || sequence->is_decoding() || sequence->num_pending() <= 0 || sequence->parent != nullptr)
      continue;
    const bool needs_blocks = num_missing_blocks(*sequence) > 0;
    if (needs_blocks && (is_short_of_blocks || !begin_prefill(*sequence, num_decoding))) {
      is_short_of_blocks = true;  // the younger ones must not overtake
      continue;
    }
    add(*sequence, std::min(sequence->num_pending(), limits_.max_batch_tokens - num_tokens_));
  }
}

int64_t Scheduler::num_missing_blocks(const Sequence& sequence) const {
  const int64_t held = static_cast<int64_t>(sequence.blocks.size());
  return std::max<int64_t>(0, pool_.blocks_for(sequence.num_needed()) - held) +
         (must_copy_tail(sequence, pool_) ? 1 : 0);
}

bool Scheduler::reserve(Sequence& sequence, int64_t num_spare, bool may_preempt_running) {
  if (!make_room(sequence, num_spare, may_preempt_running)) return false;
  if (must_copy_tail(sequence, pool_)) {
    int32_t& tail = sequence.blocks[sequence.num_cached / pool_.block_tokens()];
    const int32_t own = pool_.allocate();
    pool_.copy(tail, own);
    pool_.release(tail);
    tail = own;
  }
  const auto num_blocks = static_cast<size_t>(pool_.blocks_for(sequence.num_needed()));
  while (sequence.blocks.size() < num_blocks) sequence.blocks.push_back(pool_.allocate());
  return true;
}

// Those that wait lose their blocks first, then, if allowed, younger ones that generate; always the youngest. What is
// missing is counted anew each time: a shared tail need not be copied once the others have lost theirs.
bool Scheduler::make_room(const Sequence& sequence, int64_t num_spare, bool may_preempt_running) {
  for (;;) {
    const int64_t num_missing = num_missing_blocks(sequence);
    if (num_missing == 0 || pool_.num_free() >= num_missing + num_spare) return true;
    Sequence* loser = victim(sequence, false);
    if (loser == nullptr && may_preempt_running) loser = victim(sequence, true);
    if (loser == nullptr) return false;
    swap_out(*loser);
  }
}

Sequence* Scheduler::victim(const Sequence& sequence, bool is_generating) const {
  for (auto it = sequences_.rbegin(); it != sequences_.rend(); ++it) {
    Sequence& other = *it->second;
    if (is_generating && other.id <= sequence.id) return nullptr;
    if (&other != &sequence && other.is_generating() == is_generating && !other.blocks.empty() &&
        other.last_step != step_) {
      return &other;
    }
  }
  return nullptr;
}

}  // namespace seekrl::engine
