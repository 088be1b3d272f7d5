// An anonymous mapping; advice about huge pages is taken where the system knows it.
#include "base/pages.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <utility>

#include "base/error.h"
#include "base/platform/system_calls.h"

namespace seekrl {

namespace {

// Hands the whole pages of `size` bytes inside to `use`, where there are any.
template <class Use>
void with_whole_pages(void* data, size_t num_bytes, size_t size, Use use) {
  const auto start = reinterpret_cast<uintptr_t>(data);
  const uintptr_t first = (start + size - 1) / size * size, last = (start + num_bytes) / size * size;
  if (first < last) use(reinterpret_cast<void*>(first), last - first);
}

}  // namespace

void use_huge_pages(void* data, size_t num_bytes) {
#ifdef MADV_HUGEPAGE
  with_whole_pages(data, num_bytes, size_t{1} << 21,
                   [](void* pages, size_t size) { madvise(pages, size, MADV_HUGEPAGE); });
#else
  (void)data, (void)num_bytes;
#endif
}

void release_pages(void* data, size_t num_bytes) {
  with_whole_pages(data, num_bytes, static_cast<size_t>(sysconf(_SC_PAGESIZE)), discard_pages);
}

Pages::Pages(size_t num_bytes) : size_(num_bytes) {
  if (num_bytes == 0) return;
  void* mapped = mmap(nullptr, num_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  require(mapped != MAP_FAILED, ErrorCode::kMemory, "out of memory: ", num_bytes, " bytes");
  data_ = static_cast<std::byte*>(mapped);
  use_huge_pages(mapped, num_bytes);
}

Pages::~Pages() {
  if (data_ != nullptr) munmap(data_, size_);
}

Pages::Pages(Pages&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

Pages& Pages::operator=(Pages&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

size_t memory_bytes() {
  return static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace seekrl
