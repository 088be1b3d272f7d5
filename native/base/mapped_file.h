// A read-only file mapped into memory: pages are read when touched and shared between processes.
#pragma once

#include <cstddef>
#include <string>

namespace seekrl {

class MappedFile {
 public:
  explicit MappedFile(const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  const std::byte* data() const { return data_; }
  size_t size() const { return size_; }

  // Gives back the memory of these bytes' pages, which are read again when touched.
  void release(size_t offset, size_t num_bytes) const;

 private:
  const std::byte* data_ = nullptr;  // null for an empty file, which cannot be mapped
  size_t size_ = 0;
};

}  // namespace seekrl
