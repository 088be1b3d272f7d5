// A decoder shared out over the ranks of a process group (Megatron-LM, arXiv 1909.08053): heads, feed-forward channels
// and the vocabulary are split, norms are on every rank, and what row splits give is summed. One process is the case
// without a group.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/Exception.h>

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "comm/process_group.h"
#include "model/config.h"
#include "model/parallel/command.h"
#include "model/parallel/slice.h"
#include "ops/head/head_slice.h"

namespace seekrl::model {

// A command, and the number of the decoder that it is for.
struct Told {
  int64_t decoder;
  Command command;
};

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

  // Of its decoder among those of this process that are split: all ranks make them in one order, and count alike.
  int64_t number() const { return number_; }
  // Of the decoder that this one's was copied from: who follows that one follows this one too, and as long.
  void follow_with(const TensorParallel& source) {
    leading_ = source.leading_;
    is_copy_ = true;
  }

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
  // The whole of what is called `name`, of which this rank has `own`: itself where that is all, of which all ranks must
  // have the same bits (ERR_INTERNAL on each).
  at::Tensor joined(const at::Tensor& own, const Slice& slice, const std::string& name) const;
  // How a head of this slice of the vocabulary scores tokens.
  ops::HeadSlice head_slice(const Slice& slice) const;

  // Runs `body`, in which all ranks take part: rank 0 tells the others, who run it in `next_command`'s reader. An error
  // that says what was asked wrongly all ranks throw alike, who were asked the same; any other ends the job of all.
  void together(const std::function<Command()>& command, const std::function<void()>& body) const;
  // Once the host has waited for a GPU, before it believes what it reads there: ERR_REMOTE or ERR_DEVICE where a sum
  // was aborted. Nothing where one process holds all.
  void require_whole() const;
  // What a rank says whose GPU cannot hold its part; where one fails the job of all ends.
  Error full_gpu(const c10::OutOfMemoryError& error) const;
  // Of all ranks' numbers.
  int64_t least(int64_t own) const;
  // The command is told before any other once `thing` is gone, on rank 0.
  void end_with(std::weak_ptr<const void> thing, Command command) const;
  // On every rank but 0: what rank 0 does next.
  Told next_command() const;
  // What this rank cannot go on for. What all ranks throw alike is passed over.
  void report(const std::exception& error) const;
  static bool is_alike(const std::exception& error);
  // ERR_STATE on every rank but 0, which alone is asked.
  void require_leader(const char* what) const;
  // On rank 0: the others need not follow any more, but for a copy's sake. Idempotent.
  void release() const;

 private:
  // What rank 0 keeps of those who follow, for all copies of a decoder.
  struct Leading {
    struct Ending {
      std::weak_ptr<const void> thing;
      int64_t decoder;
      Command command;
    };

    bool is_released = false;
    std::vector<Ending> endings;
  };

  Slice slice(int64_t dim, int64_t count) const;
  void check_same(const at::Tensor& own, const std::string& name) const;
  void tell(const Command& command) const;
  void tell_endings() const;
  void send(int64_t decoder, const Command& command) const;

  std::shared_ptr<comm::ProcessGroup> group_;  // null where one process holds all
  std::shared_ptr<Leading> leading_;
  int64_t number_ = 0;
  bool is_copy_ = false;
};

}  // namespace seekrl::model
