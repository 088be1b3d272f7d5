// One allocation for all layers; the free list is a stack, so a block just released is used next.
#include "engine/memory/block_pool.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>

#include <cstddef>

#include "base/error.h"
#include "base/pages.h"
#include "kernels/attention.h"

namespace seekrl::engine {

namespace {

BlockLayout layout_of(at::ScalarType dtype, at::Device device) {
  if (!device.is_cpu()) return BlockLayout::kOnGpu;
  return dtype == at::kBFloat16 ? BlockLayout::kPaired : BlockLayout::kByHead;
}

}  // namespace

BlockPool::BlockPool(const model::DecoderConfig& config, int64_t block_tokens, at::ScalarType dtype, at::Device device,
                     CacheDtype cache_dtype)
    : block_tokens_(block_tokens),
      num_planes_(config.num_layers * 2),
      plane_heads_(block_tokens * config.num_kv_heads),
      plane_numbers_(plane_heads_ * config.head_dim),
      options_(at::device(device).dtype(cache_dtype == CacheDtype::kE4m3 ? at::kByte : dtype)),
      layout_(layout_of(dtype, device)),
      prefixes_(0, block_tokens) {
  require(layout_ == BlockLayout::kByHead || block_tokens % kernels::kPairedTokens == 0, ErrorCode::kArgument,
          "blockTokens: expected a multiple of ", kernels::kPairedTokens, " for a bfloat16 model, got ", block_tokens);
  require(!is_coded() || !device.is_cpu(), ErrorCode::kDevice,
          "cacheDtype: e4m3: expected a model on a GPU, got one on the CPU; leave it out");
}

void BlockPool::free_all(int64_t num_blocks) {
  references_.assign(num_blocks, 0);
  idle_places_.resize(num_blocks);
  idle_.clear();
  prefixes_.reset(num_blocks);
  free_.clear();
  for (int64_t block = num_blocks - 1; block >= 0; --block) free_.push_back(static_cast<int32_t>(block));
}

void BlockPool::take_storage(int64_t num_blocks) {
  free_all(num_blocks);
  storage_ = at::empty({num_planes_, num_blocks, plane_numbers_}, options_);
  if (is_coded()) scales_ = at::empty({num_planes_, num_blocks, plane_heads_}, options_.dtype(at::kFloat));
  for (int64_t layer = 0; 2 * layer < num_planes_; ++layer) {
    keys_.push_back(storage_[2 * layer]);
    values_.push_back(storage_[2 * layer + 1]);
  }
  // Decoding walks all over the pool and would miss the address cache at each block of small pages.
  if (storage_.is_cpu()) use_huge_pages(storage_.mutable_data_ptr(), storage_.nbytes());
}

void BlockPool::drop_storage() {
  TORCH_INTERNAL_ASSERT(num_used() == 0);
  copies_.clear();  // of what is gone
  free_all(num_blocks());
  keys_.clear();
  values_.clear();
  storage_.reset();
  scales_.reset();
}

int32_t BlockPool::allocate() {
  if (free_.empty() && !idle_.empty()) forget(idle_.front());
  if (free_.empty()) return -1;
  const int32_t block = free_.back();
  free_.pop_back();
  references_[block] = 1;
  is_touched_ = true;
  return block;
}

void BlockPool::share(int32_t block) {
  if (references_[block]++ == 0) idle_.erase(idle_places_[block]);
}

void BlockPool::release_free() {
  if (!is_touched_) return;
  is_touched_ = num_used() > 0;
  while (!idle_.empty()) forget(idle_.front());
  auto* const data = static_cast<std::byte*>(storage_.mutable_data_ptr());
  const size_t block_bytes = storage_[0][0].nbytes();
  for (int64_t first = 0; first < num_blocks();) {
    int64_t end = first;
    while (end < num_blocks() && references_[end] == 0) ++end;
    for (int64_t plane = 0; plane < storage_.size(0) && end > first; ++plane) {
      release_pages(data + static_cast<size_t>(plane * num_blocks() + first) * block_bytes,
                    static_cast<size_t>(end - first) * block_bytes);
    }
    first = end + 1;
  }
}

void BlockPool::release(int32_t block) {
  if (--references_[block] > 0) return;
  if (prefixes_.holds(block)) {
    idle_places_[block] = idle_.insert(idle_.end(), block);
  } else {
    free_.push_back(block);
  }
}

void BlockPool::forget(int32_t block) {
  if (!prefixes_.holds(block)) return;
  prefixes_.remove(block);
  if (references_[block] > 0) return;
  idle_.erase(idle_places_[block]);
  free_.push_back(block);
}

void BlockPool::forget_all() {
  prefixes_.clear();
  for (; !idle_.empty(); idle_.pop_back()) free_.push_back(idle_.back());
}

void BlockPool::copy(int32_t from, int32_t to) {
  if (lists_copies_) copies_.emplace_back(from, to);
  for (const at::Tensor& each : {storage_, scales_}) {
    if (each.defined()) each.select(1, to).copy_(each.select(1, from));
  }
}

}  // namespace seekrl::engine
