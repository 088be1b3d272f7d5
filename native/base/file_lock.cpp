// flock(2): a killed process leaves no lock behind, so that none is ever found stale.
#include "base/file_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>

#include "base/error.h"
#include "base/platform/regular_file.h"

namespace seekrl {

namespace {

// What a holder wrote; printable characters alone, since anybody may have written the file.
std::string text_of(int descriptor) {
  std::array<char, 256> text = {};
  const ssize_t num_read = pread(descriptor, text.data(), text.size(), 0);
  std::string holder(text.data(), num_read > 0 ? static_cast<size_t>(num_read) : 0);
  std::erase_if(holder, [](unsigned char each) { return each < ' ' || each > '~'; });
  return holder.empty() ? "another process" : holder;
}

std::string this_process() {
  std::array<char, 128> host = {};
  if (gethostname(host.data(), host.size() - 1) != 0) host[0] = '?';
  const std::time_t now = std::time(nullptr);
  std::tm utc = {};
  std::array<char, 32> since = {};
  std::strftime(since.data(), since.size(), "%FT%TZ", gmtime_r(&now, &utc));
  return "process " + std::to_string(getpid()) + " on " + host.data() + " since " + since.data();
}

}  // namespace

FileLock::FileLock(const std::string& path) {
  const auto fail_io = [&](const char* what) {
    fail(ErrorCode::kIo, path, ": cannot be ", what, ": ", std::strerror(errno));
  };
  // What a link leads to, such as a file of this user elsewhere, would be emptied.
  descriptor_ = open_regular(path, O_RDWR | O_CREAT | O_NOFOLLOW);
  try {
    if (flock(descriptor_, LOCK_EX | LOCK_NB) != 0) {
      require(errno != EWOULDBLOCK, ErrorCode::kState, path, ": locked by ", text_of(descriptor_));
      fail_io("locked");
    }
    const std::string holder = this_process();
    const bool is_written = ftruncate(descriptor_, 0) == 0 &&
                            pwrite(descriptor_, holder.data(), holder.size(), 0) == static_cast<ssize_t>(holder.size());
    if (!is_written) fail_io("written");
  } catch (...) {
    close(descriptor_);
    throw;
  }
}

FileLock::~FileLock() { close(descriptor_); }

}  // namespace seekrl
