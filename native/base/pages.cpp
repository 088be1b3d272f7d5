// An anonymous mapping; advice about huge pages is taken where the system knows it.
#include "base/pages.h"

#include <sys/mman.h>

#include <utility>

#include "base/error.h"

namespace seekrl {

Pages::Pages(size_t num_bytes) : size_(num_bytes) {
  if (num_bytes == 0) return;
  void* mapped = mmap(nullptr, num_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  require(mapped != MAP_FAILED, ErrorCode::kMemory, "out of memory: ", num_bytes, " bytes");
  data_ = static_cast<std::byte*>(mapped);
#ifdef MADV_HUGEPAGE
  madvise(mapped, num_bytes, MADV_HUGEPAGE);
#endif
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

}  // namespace seekrl
