// The name is removed as soon as the file is open.
#include "base/spill_file.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"

namespace seekrl {

SpillFile::SpillFile(const std::string& path) : path_(path + ".spill-XXXXXX") {
  descriptor_ = mkostemp(path_.data(), O_CLOEXEC);
  if (descriptor_ < 0) fail_io("created");
  unlink(path_.c_str());
}

SpillFile::~SpillFile() { close(descriptor_); }

void SpillFile::fail_io(const char* what) const {
  fail(ErrorCode::kIo, path_, ": cannot be ", what, ": ", std::strerror(errno));
}

void SpillFile::append(const void* data, size_t num_bytes) {
  auto* bytes = static_cast<const std::byte*>(data);
  while (num_bytes > 0) {
    const ssize_t num_put = pwrite(descriptor_, bytes, num_bytes, size_);
    if (num_put < 0 && errno == EINTR) continue;
    if (num_put <= 0) fail_io("written");
    bytes += num_put;
    size_ += num_put;
    num_bytes -= static_cast<size_t>(num_put);
  }
}

void SpillFile::read(int64_t offset, void* data, size_t num_bytes) const {
  auto* bytes = static_cast<std::byte*>(data);
  while (num_bytes > 0) {
    const ssize_t num_got = pread(descriptor_, bytes, num_bytes, offset);
    if (num_got < 0 && errno == EINTR) continue;
    if (num_got <= 0) fail_io("read");
    bytes += num_got;
    offset += num_got;
    num_bytes -= static_cast<size_t>(num_got);
  }
}

}  // namespace seekrl
