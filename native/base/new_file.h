// A file that is written beside its final place and appears there whole or not at all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace seekrl {

// Without `publish` it leaves no trace. Failures are ERR_IO.
class NewFile {
 public:
  explicit NewFile(std::string path);
  ~NewFile();
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  // After what has been written.
  void write(const void* data, size_t num_bytes);
  // Over what has been written.
  void write_at(int64_t offset, const void* data, size_t num_bytes);
  // Replaces `path`, once the bytes are on the disk.
  void publish();

  int64_t size() const { return size_; }

 private:
  [[noreturn]] void fail_io(const char* what) const;

  std::string path_, temporary_;
  int descriptor_ = -1;
  int64_t size_ = 0;
};

}  // namespace seekrl
