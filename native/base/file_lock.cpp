// flock(2): a killed process leaves no lock behind, so that none is ever found stale.
#include "base/file_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "base/error.h"

namespace seekrl {

namespace {

std::string text_of(int descriptor) {
  std::array<char, 32> text = {};
  const ssize_t num_read = pread(descriptor, text.data(), text.size(), 0);
  return {text.data(), num_read > 0 ? static_cast<size_t>(num_read) : 0};
}

}  // namespace

FileLock::FileLock(const std::string& path) {
  const auto fail_io = [&](const char* what) {
    fail(ErrorCode::kIo, path, ": cannot be ", what, ": ", std::strerror(errno));
  };
  descriptor_ = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor_ < 0) fail_io("opened");
  try {
    if (flock(descriptor_, LOCK_EX | LOCK_NB) != 0) {
      require(errno != EWOULDBLOCK, ErrorCode::kState, path, ": locked by process ", text_of(descriptor_));
      fail_io("locked");
    }
    const std::string number = std::to_string(getpid());
    const bool is_written = ftruncate(descriptor_, 0) == 0 &&
                            pwrite(descriptor_, number.data(), number.size(), 0) == static_cast<ssize_t>(number.size());
    if (!is_written) fail_io("written");
  } catch (...) {
    close(descriptor_);
    throw;
  }
}

FileLock::~FileLock() { close(descriptor_); }

}  // namespace seekrl
