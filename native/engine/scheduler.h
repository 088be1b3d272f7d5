// Decides which tokens the next step runs and finds the blocks for them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "engine/limits.h"
#include "engine/memory/block_pool.h"
#include "engine/memory/swap.h"
#include "engine/sequence.h"

namespace seekrl::engine {

// The next `num_tokens` uncached tokens of a sequence. A token is drawn after each of the last `num_samples`: one after
// all there are, and one more for each drafted token.
struct Row {
  Sequence* sequence;
  int64_t num_tokens;
  int64_t num_samples;
};

// Continuous batching: every step takes all sequences in decode, oldest first, and fills the rest of its token budget
// with prefill chunks, oldest first.
class Scheduler {
 public:
  using Sequences = std::map<int32_t, std::shared_ptr<Sequence>>;  // by id, which is by age

  // `sequences`: all there are; those that wait are looked at only when blocks run short.
  Scheduler(BlockPool& pool, const SwapSpace& swap, const Sequences& sequences, Limits limits)
      : pool_(pool), swap_(swap), sequences_(sequences), limits_(limits) {}

  // Of the steps from here on.
  void set_limits(Limits limits) { limits_ = limits; }

  // A sequence begins to generate. A fork makes its parent cache what they share first.
  void activate(Sequence& sequence);
  // It has ceased to: nothing is cached for its sake any more.
  void deactivate(Sequence& sequence);
  // It is about to go.
  void remove(Sequence& sequence);

  // The rows of the next step, their blocks reserved; those of a step that was not run may be asked for again. Empty
  // only when nothing is pending.
  const std::vector<Row>& next();
  // Those of the last step.
  const std::vector<Row>& rows() const { return rows_; }

  // Whether the rows of the last step may go on by themselves, a token each and again one more: nobody else could join
  // them now, and there are free blocks for `num_ahead` tokens behind those that a row has, which are then reserved;
  // none for tokens that its span does not go to, nor for those beyond `limit`.
  bool extend(int64_t num_ahead, int64_t limit);

  // Takes all tokens but the first `length` off a sequence, and gives back the blocks that held nothing else. Forks
  // that were to share more take what is cached.
  void truncate(Sequence& sequence, int64_t length);

  // Names the blocks that the last step has filled, for others to find.
  void remember();
  // What its blocks hold is not to be trusted.
  void forget(Sequence& sequence);

  // Gives a sequence's blocks back; its tokens are recomputed when they are needed again.
  void drop_cache(Sequence& sequence);
  // Gives them back, and keeps what they hold on the host if there is room.
  void swap_out(Sequence& sequence);
  // The last step is over, its rows may be gone.
  void forget_rows() { rows_.clear(); }

  // Times a sequence lost its blocks and is to be recomputed, and times its blocks went to the host.
  int64_t num_preemptions() const { return num_preemptions_; }
  int64_t num_swapped() const { return num_swapped_; }
  // Tokens whose keys and values were found where sequences had left them.
  int64_t num_reused() const { return num_reused_; }

 private:
  void leave_parent(Sequence& sequence);
  void take_share(Sequence& sequence, int64_t num_tokens);
  void hand_over();
  // In the last step, and not ended since.
  bool has_row(const Sequence& sequence) const { return sequence.is_active() && sequence.last_step == step_; }
  bool others_may_join() const;
  bool begin_prefill(Sequence& sequence, int64_t num_spare);
  void release_blocks(Sequence& sequence);
  void take_prefix(Sequence& sequence);
  void swap_in(Sequence& sequence);
  void name_prefixes(Sequence& sequence);
  void add_decoding();
  void draft(Sequence& sequence);
  void add_prefill();
  void add(Sequence& sequence, int64_t num_tokens);
  bool is_full() const;
  int64_t num_missing_blocks(const Sequence& sequence) const;
  bool reserve(Sequence& sequence, int64_t num_spare, bool may_preempt_running);
  bool make_room(const Sequence& sequence, int64_t num_spare, bool may_preempt_running);
  Sequence* victim(const Sequence& sequence, bool is_generating) const;

  BlockPool& pool_;
  const SwapSpace& swap_;
  const Sequences& sequences_;
  Limits limits_;
  std::map<int32_t, Sequence*> active_;
  std::vector<Row> rows_;
  int64_t num_tokens_ = 0;
  int64_t step_ = 0;
  // When the step was chosen: its rows, those that found no place in it, free blocks.
  int64_t num_rows_ = 0, num_left_out_ = 0, num_free_ = 0;
  int64_t num_preemptions_ = 0;
  int64_t num_swapped_ = 0;
  int64_t num_reused_ = 0;
};

}  // namespace seekrl::engine
