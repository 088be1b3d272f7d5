// Keys and values of all sequences, in blocks that sequences share by counted reference.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <list>
#include <utility>
#include <vector>

#include "engine/memory/prefix_cache.h"
#include "model/config.h"

namespace seekrl::engine {

// How a block's keys and values lie. By head, for the CPU's kernel in f32: keys [K, C, block_tokens], values
// [K, block_tokens, C], so that decoding reads both front to back. Paired, for its kernel in bf16: see
// kernels::PairedKeyValues, keys [K, C / 2, block_tokens, 2], values [K, block_tokens / 2, C, 2]. For a GPU's kernels:
// both [K, block_tokens, C].
enum class BlockLayout { kByHead, kPaired, kOnGpu };

// What a block holds: numbers of the model's dtype, or codes of 8 bits with a scale for each head of each token
// (kernels/cuda/attention/paged.h), a bit more than half as many bytes; on a GPU alone. Numbers become others as
// codes, so that what is generated over them has not the log-probabilities that training computes.
enum class CacheDtype { kModel, kE4m3 };

class BlockPool {
 public:
  // Has no blocks yet. ERR_DEVICE for kE4m3 on the CPU.
  BlockPool(const model::DecoderConfig& config, int64_t block_tokens, at::ScalarType dtype, at::Device device,
            CacheDtype cache_dtype = CacheDtype::kModel);

  // How many it is to have; they have no memory yet.
  void set_num_blocks(int64_t num_blocks) { free_all(num_blocks); }
  // Memory for so many blocks, all free.
  void take_storage(int64_t num_blocks);
  // Gives it back, and forgets the prefixes; nobody may hold a block then.
  void drop_storage();
  // What holds addresses of keys and values must be gone when it is dropped.
  bool has_storage() const { return storage_.defined(); }

  // A block with one reference, or -1 when none is free. Blocks that hold nothing go first, then what has not been used
  // for longest.
  int32_t allocate();
  void share(int32_t block);
  // Whoever releases several releases the last one first: what is then found again is a prefix from its beginning.
  void release(int32_t block);
  bool is_shared(int32_t block) const { return references_[block] > 1; }

  // A block in it that nobody refers to keeps what it holds, though it is free, until it is allocated.
  const PrefixCache& prefixes() const { return prefixes_; }
  PrefixCache::Name add_prefix(PrefixCache::Name before, const int64_t* tokens, int32_t block) {
    return prefixes_.add(before, tokens, block);
  }
  // The block's contents are about to change, or are not to be trusted.
  void forget(int32_t block);
  void forget_all();

  // On the CPU: gives the memory of free blocks back to the system, until they are used again, and forgets the prefixes
  // in them.
  void release_free();
  // Copies the keys and values of every layer.
  void copy(int32_t from, int32_t to);

  // From and to.
  using Copies = std::vector<std::pair<int32_t, int32_t>>;
  // From here on copies are listed, for pools elsewhere to do the same.
  void list_copies() { lists_copies_ = true; }
  Copies take_copies() { return std::exchange(copies_, {}); }

  int64_t num_blocks() const { return static_cast<int64_t>(references_.size()); }
  int64_t num_free() const { return static_cast<int64_t>(free_.size() + idle_.size()); }
  int64_t num_used() const { return num_blocks() - num_free(); }
  int64_t block_tokens() const { return block_tokens_; }
  // Blocks that hold so many tokens.
  int64_t blocks_for(int64_t num_tokens) const { return (num_tokens + block_tokens_ - 1) / block_tokens_; }

  // Where a sequence with these blocks keeps its token i: block * block_tokens + place in the block.
  int64_t slot(const std::vector<int32_t>& blocks, int64_t i) const {
    return blocks[i / block_tokens_] * block_tokens_ + i % block_tokens_;
  }

  at::Device device() const { return options_.device(); }
  BlockLayout layout() const { return layout_; }
  bool is_coded() const { return options_.dtype() == at::kByte; }
  int64_t block_bytes() const {
    const int64_t scales = is_coded() ? plane_heads_ * static_cast<int64_t>(sizeof(float)) : 0;
    return num_planes_ * (plane_numbers_ * static_cast<int64_t>(options_.dtype().itemsize()) + scales);
  }
  // Of all layers, keys and values: [L * 2, num_blocks, block_tokens * K * C]
  const at::Tensor& storage() const { return storage_; }
  // [num_blocks, block_tokens * K * C]
  const at::Tensor& keys(int64_t layer) const { return keys_[layer]; }
  const at::Tensor& values(int64_t layer) const { return values_[layer]; }
  // Of codes: f32 [num_blocks, K * block_tokens]; null where there are none.
  float* key_scales(int64_t layer) const { return scales(2 * layer); }
  float* value_scales(int64_t layer) const { return scales(2 * layer + 1); }

 private:
  void free_all(int64_t num_blocks);
  float* scales(int64_t plane) const {
    return scales_.defined() ? scales_.mutable_data_ptr<float>() + plane * scales_.stride(0) : nullptr;
  }

  int64_t block_tokens_;
  int64_t num_planes_, plane_heads_, plane_numbers_;  // of a block's plane: heads of tokens, their numbers
  at::TensorOptions options_;
  BlockLayout layout_;
  std::vector<int32_t> references_;
  std::vector<int32_t> free_;
  std::list<int32_t> idle_;  // free and in prefixes_, the longest unused first
  std::vector<std::list<int32_t>::iterator> idle_places_;
  PrefixCache prefixes_;
  at::Tensor storage_;
  at::Tensor scales_;  // of codes: [L * 2, num_blocks, block_tokens * K]
  std::vector<at::Tensor> keys_, values_;
  bool is_touched_ = false;  // since the last release
  bool lists_copies_ = false;
  Copies copies_;
};

}  // namespace seekrl::engine
