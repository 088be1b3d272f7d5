// First fit by address: what lives long gathers at the beginning, and the end stays untouched.
#include "base/arena.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>

#include "base/pages.h"

namespace seekrl {

namespace {

constexpr size_t kHugePage = size_t{1} << 21;

size_t rounded_up(size_t value, size_t to) { return (value + to - 1) / to * to; }

}  // namespace

Arena::Arena(size_t num_bytes) {
  const size_t reserved = rounded_up(num_bytes, kHugePage);
  constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  void* mapped = mmap(nullptr, reserved, PROT_READ | PROT_WRITE, kFlags, -1, 0);
  if (mapped == MAP_FAILED) return;
#ifdef MADV_HUGEPAGE
  madvise(mapped, reserved, MADV_HUGEPAGE);
#endif
  data_ = static_cast<std::byte*>(mapped);
  size_ = reserved;
  free_.emplace(0, reserved);
}

Arena::~Arena() {
  if (data_ != nullptr) munmap(data_, size_);
}

void* Arena::allocate(size_t num_bytes) {
  const size_t wanted = rounded_up(std::max<size_t>(num_bytes, 1), kAlignment);
  const std::scoped_lock lock(mutex_);
  const auto place =
      std::find_if(free_.begin(), free_.end(), [wanted](const auto& block) { return block.second >= wanted; });
  if (place == free_.end()) return nullptr;
  const auto [offset, size] = *place;
  free_.erase(place);
  if (size > wanted) free_.emplace(offset + wanted, size - wanted);
  used_.emplace(offset, wanted);
  touched_ = std::max(touched_, offset + wanted);
  return data_ + offset;
}

void Arena::free(void* block) {
  const std::scoped_lock lock(mutex_);
  const auto used = used_.find(static_cast<size_t>(static_cast<std::byte*>(block) - data_));
  if (used == used_.end()) return;
  auto [offset, size] = *used;
  used_.erase(used);
  auto after = free_.lower_bound(offset);
  if (after != free_.end() && after->first == offset + size) {
    size += after->second;
    after = free_.erase(after);
  }
  if (after != free_.begin()) {
    const auto before = std::prev(after);
    if (before->first + before->second == offset) {
      before->second += size;
      return;
    }
  }
  free_.emplace(offset, size);
}

bool Arena::holds(const void* address) const { return address >= data_ && address < data_ + size_; }

void Arena::release(size_t least) {
  const std::scoped_lock lock(mutex_);
  if (touched_ < least) return;
  for (const auto& [offset, size] : free_) {
    if (offset >= touched_) break;
    release_pages(data_ + offset, std::min(size, touched_ - offset));
  }
  touched_ = used_.empty() ? 0 : used_.rbegin()->first + used_.rbegin()->second;
}

}  // namespace seekrl
