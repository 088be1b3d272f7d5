// The files of an index: a checked header before one payload, written whole or not at all, read through a mapping.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/mapped_file.h"
#include "base/new_file.h"
#include "search/checksum.h"

namespace seekrl::search {

using BlobKind = std::array<char, 4>;
// What a kind keeps beside its payload: counts, widths, options.
using BlobNumbers = std::array<int64_t, 6>;

// 128 bytes, little-endian, at the start of the file: the payload begins on a cache line.
struct alignas(64) BlobHeader {
  std::array<char, 8> magic;
  uint32_t version;
  BlobKind kind;
  uint64_t payload_bytes;
  uint64_t checksum;  // of the payload
  BlobNumbers numbers;
  uint64_t header_checksum;  // of this header with this field zero
};
static_assert(sizeof(BlobHeader) == 128);

// A header with its own checksum set.
BlobHeader make_header(BlobKind kind, uint64_t payload_bytes, uint64_t checksum, const BlobNumbers& numbers);
// ERR_FORMAT unless it is whole, of our format and of this kind.
void check_header(const std::string& path, const BlobHeader& header, BlobKind kind);

// Sections of a payload that are padded begin on cache lines, so that rows of whole lines never straddle one.
inline size_t padded(size_t num_bytes) { return (num_bytes + 63) / 64 * 64; }

// Only `finish` makes the file appear under its name.
class BlobWriter {
 public:
  BlobWriter(std::string path, BlobKind kind);

  void write(const void* data, size_t num_bytes);
  template <class T>
  void write(const std::vector<T>& values) {
    write(values.data(), values.size() * sizeof(T));
  }
  // Zeros follow to the end of the cache line.
  void write_padded(const void* data, size_t num_bytes);
  void finish(const BlobNumbers& numbers);

 private:
  void flush();

  NewFile file_;
  BlobKind kind_;
  Checksum checksum_;
  std::vector<std::byte> buffer_;
};

// How much of a file is looked at before it is used. `kAll` reads every byte once: a damaged file is ERR_FORMAT and
// never a crash later. `kHeader` checks the header and the size alone, in microseconds: for files that were verified
// before.
enum class Verify { kAll, kHeader };

class Blob {
 public:
  Blob(const std::string& path, BlobKind kind, Verify verify);

  const std::byte* payload() const { return file_->data() + sizeof(BlobHeader); }
  size_t payload_bytes() const { return file_->size() - sizeof(BlobHeader); }
  const BlobNumbers& numbers() const { return numbers_; }

 private:
  std::unique_ptr<MappedFile> file_;
  BlobNumbers numbers_ = {};
};

}  // namespace seekrl::search
