// A decoder shared out over the ranks of a process group (Megatron-LM, arXiv 1909.08053): heads, feed-forward channels
// and the vocabulary are split, norms are on every rank, and what row splits give is summed. One process is the case
// without a group.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "comm/process_group.h"
#include "model/config.h"
#include "model/parallel/slice.h"
#include "ops/head/token_logprob.h"

namespace seekrl::model {

// What rank 0 does next, for the others to do with it: words that its reader knows (engine/follow/follower.h). The
// first is one of these.
enum class Task : int64_t { kClose, kScore, kParameter, kOpenEngine, kStep, kCloseEngine };
using Command = std::vector<int64_t>;

// Device thread only, save where said. Sums are those of pairs of ranks, then of pairs of pairs: all ranks have the
// same bits, which depend on nothing else in a batch.
class TensorParallel {
 public:
  TensorParallel() = default;
  // ERR_ARGUMENT where the ranks are no power of two, or do not divide heads, key heads or feed-forward channels.
  TensorParallel(std::shared_ptr<comm::ProcessGroup> group, const DecoderConfig& config);

  bool is_split() const { return group_ != nullptr; }
  int64_t rank() const { return is_split() ? group_->rank() : 0; }
  int64_t size() const { return is_split() ? group_->size() : 1; }

  // Null where one process holds all.
  const std::shared_ptr<comm::ProcessGroup>& group() const { return group_; }

  // The shape of what this rank computes; the vocabulary is the whole one.
  DecoderConfig own(const DecoderConfig& config) const;
  // This rank's of `count` rows or columns, equal on all ranks but the last of a vocabulary.
  Slice rows(int64_t count) const { return slice(0, count); }
  Slice columns(int64_t count) const { return slice(1, count); }

  // The sum over ranks, in place of the part; its gradient goes to every summand as it is (Megatron's g).
  at::Tensor summed(const at::Tensor& part) const;
  // x itself, of which every rank uses what it needs; its gradient is summed over ranks (Megatron's f).
  at::Tensor shared(const at::Tensor& x) const;
  // What all ranks have of a slice's rows, one behind the other: [own, ...] -> [whole, ...].
  at::Tensor joined_rows(const at::Tensor& own, const Slice& slice) const;
  // How a head of this slice of the vocabulary scores tokens.
  ops::HeadSlice head_slice(const Slice& slice) const;

  // Runs `body`, in which all ranks take part: rank 0 tells the others, who run it in `next_command`'s reader. What it
  // throws ends the job of all.
  void together(const std::function<Command()>& command, const std::function<void()>& body) const;
  // On every rank but 0: what rank 0 does next.
  Command next_command() const;
  // What this rank cannot go on for.
  void report(const char* what) const;
  // ERR_STATE on every rank but 0, which alone is asked.
  void require_leader(const char* what) const;
  // On rank 0: the others need not follow any more. Idempotent.
  void release();

 private:
  Slice slice(int64_t dim, int64_t count) const;
  void tell(const Command& command) const;

  std::shared_ptr<comm::ProcessGroup> group_;  // null where one process holds all
  bool is_released_ = false;
};

}  // namespace seekrl::model
