// A nameless temporary file for what is too much to keep in memory: it is gone with the process, however that ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace seekrl {

// Failures are ERR_IO.
class SpillFile {
 public:
  // On the file system of `path`, which it never touches.
  explicit SpillFile(const std::string& path);
  ~SpillFile();
  SpillFile(const SpillFile&) = delete;
  SpillFile& operator=(const SpillFile&) = delete;

  void append(const void* data, size_t num_bytes);
  void read(int64_t offset, void* data, size_t num_bytes) const;

  int64_t size() const { return size_; }

 private:
  [[noreturn]] void fail_io(const char* what) const;

  std::string path_;
  int descriptor_ = -1;
  int64_t size_ = 0;
};

}  // namespace seekrl
