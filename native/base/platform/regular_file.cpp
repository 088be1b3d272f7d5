// stat(2) first, since to open a device may already do something; O_NONBLOCK for what comes in between.
#include "base/platform/regular_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"

namespace seekrl {

namespace {

const char* kind_of(mode_t mode) {
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISFIFO(mode)) return "a FIFO";
  if (S_ISSOCK(mode)) return "a socket";
  return S_ISLNK(mode) ? "a link" : "a device";
}

void require_regular(const std::string& path, mode_t mode) {
  require(S_ISREG(mode), ErrorCode::kIo, path, ": expected a file, got ", kind_of(mode));
}

}  // namespace

int open_regular(const std::string& path, int flags) {
  struct stat status = {};
  const bool is_own = (flags & O_NOFOLLOW) != 0;
  if ((is_own ? lstat(path.c_str(), &status) : stat(path.c_str(), &status)) == 0) {
    require_regular(path, status.st_mode);
  }
  const int descriptor = open(path.c_str(), flags | O_CLOEXEC | O_NONBLOCK, 0666);
  require(descriptor >= 0, ErrorCode::kIo, path, ": cannot be opened: ", std::strerror(errno));
  return descriptor;
}

}  // namespace seekrl
