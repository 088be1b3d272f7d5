// Mapping through POSIX mmap; the descriptor is closed at once, the mapping outlives it.
#include "base/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "base/platform/regular_file.h"

namespace seekrl {

MappedFile::MappedFile(const std::string& path) {
  const int descriptor = open_regular(path, O_RDONLY);
  struct stat status = {};
  void* mapped = MAP_FAILED;
  const bool is_known = fstat(descriptor, &status) == 0;
  size_ = is_known ? static_cast<size_t>(status.st_size) : 0;
  if (size_ > 0) mapped = mmap(nullptr, size_, PROT_READ, MAP_SHARED, descriptor, 0);
  const int error = errno;
  close(descriptor);
  require(is_known && (size_ == 0 || mapped != MAP_FAILED), ErrorCode::kIo, path,
          ": cannot be mapped: ", std::strerror(error));
  if (size_ > 0) data_ = static_cast<const std::byte*>(mapped);
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) munmap(const_cast<std::byte*>(data_), size_);
}

void MappedFile::release(size_t offset, size_t num_bytes) const {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t first = offset / page * page, end = std::min(size_, offset + num_bytes);
  if (first < end) madvise(const_cast<std::byte*>(data_) + first, end - first, MADV_DONTNEED);
}

}  // namespace seekrl
