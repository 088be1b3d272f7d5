// macOS's manual pages: fcntl(2), fsync(2), mmap(2), tcp(4).
#include "base/platform/system_calls.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <string>
#include <system_error>

#if defined(__APPLE__)
#include <malloc/malloc.h>
#elif defined(__GLIBC__)
#include <malloc.h>
#endif

namespace seekrl {

namespace {

#if defined(__APPLE__)
constexpr const char* kDescriptors = "/dev/fd";
constexpr int kIdleOption = TCP_KEEPALIVE;
#else
constexpr const char* kDescriptors = "/proc/self/fd";
constexpr int kIdleOption = TCP_KEEPIDLE;
#endif

}  // namespace

int allocate_room(int descriptor, size_t num_bytes) {
#if defined(__APPLE__)
  fstore_t wanted = {F_ALLOCATEALL, F_PEOFPOSMODE, 0, static_cast<off_t>(num_bytes), 0};
  const bool is_there =
      fcntl(descriptor, F_PREALLOCATE, &wanted) != -1 && ftruncate(descriptor, static_cast<off_t>(num_bytes)) == 0;
  return is_there ? 0 : errno;
#else
  return posix_fallocate(descriptor, 0, static_cast<off_t>(num_bytes));
#endif
}

int flush_to_disk(int descriptor) {
#if defined(__APPLE__)
  // Not every file system takes the first, a network's for one.
  if (fcntl(descriptor, F_FULLFSYNC) == 0) return 0;
#endif
  return fsync(descriptor);
}

void discard_pages(void* first, size_t num_bytes) {
#if defined(__APPLE__)
  // madvise leaves the pages' bytes or takes them later.
  mmap(first, num_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
#else
  madvise(first, num_bytes, MADV_DONTNEED);
#endif
}

void set_mapped_threshold([[maybe_unused]] int num_bytes) {
#if defined(__GLIBC__)
  mallopt(M_MMAP_THRESHOLD, num_bytes);
#endif
}

void set_trim_threshold([[maybe_unused]] int num_bytes) {
#if defined(__GLIBC__)
  mallopt(M_TRIM_THRESHOLD, num_bytes);
#endif
}

void trim_heap() {
#if defined(__APPLE__)
  malloc_zone_pressure_relief(nullptr, 0);
#elif defined(__GLIBC__)
  malloc_trim(0);
#endif
}

std::vector<int> open_descriptors() {
  std::vector<int> descriptors;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(kDescriptors, error)) {
    descriptors.push_back(std::stoi(entry.path().filename().string()));
  }
  return descriptors;
}

void end_when_silent(int socket_id, std::chrono::milliseconds patience) {
  const auto set = [&](int level, int option, int value) {
    setsockopt(socket_id, level, option, &value, sizeof(value));
  };
  const auto seconds = static_cast<int>(patience.count() / 1000);
#if defined(__APPLE__)
  set(IPPROTO_TCP, TCP_RXT_CONNDROPTIME, std::max(1, seconds));
#else
  set(IPPROTO_TCP, TCP_USER_TIMEOUT, static_cast<int>(patience.count()));
#endif
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, kIdleOption, std::max(1, seconds / 3));
  set(IPPROTO_TCP, TCP_KEEPINTVL, std::max(1, seconds / 3));
  set(IPPROTO_TCP, TCP_KEEPCNT, 3);
}

}  // namespace seekrl
