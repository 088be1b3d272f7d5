// One allocation for all layers; the free list is a stack, so a block just released is used next.
#include "engine/block_pool.h"

#include <ATen/ATen.h>
#include <sys/mman.h>

#include "base/error.h"

namespace seekrl::engine {

namespace {

// Decoding walks all over the pool and would miss the address cache at each block of small pages. Advice only.
void use_huge_pages(at::Tensor& storage) {
#if defined(MADV_HUGEPAGE)
  if (!storage.device().is_cpu()) return;
  constexpr uintptr_t kPage = uintptr_t{1} << 21;
  const auto start = reinterpret_cast<uintptr_t>(storage.mutable_data_ptr());
  const uintptr_t first = (start + kPage - 1) / kPage * kPage, last = (start + storage.nbytes()) / kPage * kPage;
  if (first < last) madvise(reinterpret_cast<void*>(first), last - first, MADV_HUGEPAGE);
#else
  (void)storage;
#endif
}

}  // namespace

BlockPool::BlockPool(const model::DecoderConfig& config, int64_t num_blocks, int64_t block_tokens, at::ScalarType dtype,
                     at::Device device)
    : block_tokens_(block_tokens),
      layout_(device.is_cpu() ? BlockLayout::kByHead : BlockLayout::kByToken),
      references_(num_blocks, 0),
      idle_places_(num_blocks),
      prefixes_(num_blocks, block_tokens) {
  const int64_t row = config.num_kv_heads * config.head_dim;
  storage_ = at::empty({config.num_layers * 2, num_blocks, block_tokens * row}, at::device(device).dtype(dtype));
  use_huge_pages(storage_);
  for (int64_t layer = 0; layer < config.num_layers; ++layer) {
    keys_.push_back(storage_[2 * layer]);
    values_.push_back(storage_[2 * layer + 1]);
  }
  for (int64_t block = num_blocks - 1; block >= 0; --block) free_.push_back(static_cast<int32_t>(block));
}

int32_t BlockPool::allocate() {
  if (free_.empty() && !idle_.empty()) forget(idle_.front());
  if (free_.empty()) return -1;
  const int32_t block = free_.back();
  free_.pop_back();
  references_[block] = 1;
  return block;
}

void BlockPool::share(int32_t block) {
  if (references_[block]++ == 0) idle_.erase(idle_places_[block]);
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

void BlockPool::copy(int32_t from, int32_t to) { storage_.select(1, to).copy_(storage_.select(1, from)); }

}  // namespace seekrl::engine
