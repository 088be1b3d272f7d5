// Memory that lives in a nameless file: the system writes its pages out and drops them when it needs room.
#pragma once

#include <cstddef>
#include <string>

namespace seekrl {

// Zero at first. The file is gone with the object or the process, however that ends.
class FilePages {
 public:
  // In a folder that exists. ERR_IO when the file cannot be made there or the disk has not so much room.
  FilePages(const std::string& folder, size_t num_bytes);
  ~FilePages();
  FilePages(const FilePages&) = delete;
  FilePages& operator=(const FilePages&) = delete;

  std::byte* data() const { return data_; }

 private:
  std::byte* data_ = nullptr;  // null for no bytes, which cannot be mapped
  size_t size_;
};

}  // namespace seekrl
