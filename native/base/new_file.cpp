// Write, flush, rename; the name of the temporary file is no other writer's.
#include "base/new_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <utility>

#include "base/error.h"
#include "base/platform/system_calls.h"

namespace seekrl {

namespace {

std::string temporary_name(const std::string& path) {
  static std::atomic<int> num_names{0};
  return path + "." + std::to_string(getpid()) + "-" + std::to_string(num_names.fetch_add(1)) + ".tmp";
}

// Makes the rename itself survive a power cut; not every file system allows it.
void sync_folder(const std::string& path) {
  const auto folder = std::filesystem::path(path).parent_path();
  const int descriptor = open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  flush_to_disk(descriptor);
  close(descriptor);
}

}  // namespace

NewFile::NewFile(std::string path) : path_(std::move(path)), temporary_(temporary_name(path_)) {
  descriptor_ = open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (descriptor_ < 0) fail_io("created");
}

NewFile::~NewFile() {
  if (descriptor_ < 0) return;
  close(descriptor_);
  unlink(temporary_.c_str());
}

void NewFile::fail_io(const char* what) const {
  fail(ErrorCode::kIo, path_, ": cannot be ", what, ": ", std::strerror(errno));
}

void NewFile::write(const void* data, size_t num_bytes) {
  write_at(size_, data, num_bytes);
  size_ += static_cast<int64_t>(num_bytes);
}

void NewFile::write_at(int64_t offset, const void* data, size_t num_bytes) {
  auto* bytes = static_cast<const std::byte*>(data);
  while (num_bytes > 0) {
    const ssize_t num_put = pwrite(descriptor_, bytes, num_bytes, offset);
    if (num_put < 0 && errno == EINTR) continue;
    if (num_put <= 0) fail_io("written");
    bytes += num_put;
    offset += num_put;
    num_bytes -= static_cast<size_t>(num_put);
  }
}

void NewFile::publish() {
  if (flush_to_disk(descriptor_) != 0) fail_io("flushed");
  if (std::rename(temporary_.c_str(), path_.c_str()) != 0) fail_io("replaced");
  close(descriptor_);
  descriptor_ = -1;
  sync_folder(path_);
}

}  // namespace seekrl
