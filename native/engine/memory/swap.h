// Keys and values of sequences that lost their blocks on a GPU, in the host's memory until they run again.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "engine/memory/block_pool.h"

namespace seekrl::engine {

// The contents of some blocks, in their order. Forks may share them.
class SwappedBlocks {
 public:
  SwappedBlocks(std::shared_ptr<int64_t> used_bytes, int64_t num_bytes)
      : used_bytes_(std::move(used_bytes)), num_bytes_(num_bytes) {
    *used_bytes_ += num_bytes;
  }
  ~SwappedBlocks() { *used_bytes_ -= num_bytes_; }
  SwappedBlocks(const SwappedBlocks&) = delete;
  SwappedBlocks& operator=(const SwappedBlocks&) = delete;

 private:
  friend class SwapSpace;
  std::shared_ptr<int64_t> used_bytes_;
  int64_t num_bytes_;
  std::vector<at::Tensor> pieces_;  // each as many blocks as go through the GPU's memory at once; pinned
};

// Room for them. Copies are in the order of the current stream: nobody waits for one.
class SwapSpace {
 public:
  // None at first: on the CPU a copy would take the memory that it is to spare.
  void set_room(int64_t num_bytes) { room_bytes_ = num_bytes; }

  // Null when there is no room, here or for the copy on the GPU, and of a cache of codes, whose sequences are computed
  // again; the blocks are as they were.
  std::shared_ptr<const SwappedBlocks> swap_out(const BlockPool& pool, const std::vector<int32_t>& blocks) const;
  // To `blocks` what the first of them held, save in the first `num_found`. False when the GPU has no room for the
  // copy: the blocks then hold nothing.
  bool swap_in(BlockPool& pool, const SwappedBlocks& swapped, const std::vector<int32_t>& blocks,
               int64_t num_found) const;

 private:
  int64_t room_bytes_ = 0;
  std::shared_ptr<int64_t> used_bytes_ = std::make_shared<int64_t>(0);
};

}  // namespace seekrl::engine
