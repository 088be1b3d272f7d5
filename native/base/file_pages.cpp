// The name is removed as soon as the file is open, and the file closed as soon as it is mapped.
#include "base/file_pages.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "base/platform/system_calls.h"

namespace seekrl {

namespace {

class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& folder) : path_(folder + "/.seekrl-states-XXXXXX") {
    descriptor_ = mkostemp(path_.data(), O_CLOEXEC);
    if (descriptor_ < 0) fail_io("created", errno);
    unlink(path_.c_str());
  }
  ~TemporaryFile() { close(descriptor_); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  // Takes the room now: a mapping without it ends the process when a page is touched.
  std::byte* map(size_t num_bytes) {
    if (const int error = allocate_room(descriptor_, num_bytes); error != 0) {
      fail_io("given room for " + std::to_string(num_bytes) + " bytes", error);
    }
    void* mapped = mmap(nullptr, num_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_, 0);
    if (mapped == MAP_FAILED) fail_io("mapped", errno);
    return static_cast<std::byte*>(mapped);
  }

 private:
  [[noreturn]] void fail_io(const std::string& what, int error) const {
    fail(ErrorCode::kIo, path_, ": cannot be ", what, ": ", std::strerror(error));
  }

  std::string path_;
  int descriptor_ = -1;
};

}  // namespace

FilePages::FilePages(const std::string& folder, size_t num_bytes) : size_(num_bytes) {
  if (num_bytes > 0) data_ = TemporaryFile(folder).map(num_bytes);
}

FilePages::~FilePages() {
  if (data_ != nullptr) munmap(data_, size_);
}

}  // namespace seekrl
