// Vectors in stored form, row after row: in memory while they are added, mapped after opening.
#pragma once

#include <cstdint>
#include <vector>

#include "base/pages.h"
#include "search/blob.h"
#include "search/vectors/vector_codec.h"

namespace seekrl::search {

// In a file: the rows, then for i8 their scales, each part from a multiple of 64 bytes on.
class VectorRows {
 public:
  // In memory, `capacity` rows of zeros.
  VectorRows(const VectorFormat& format, int64_t capacity);
  // A part of a file, section_bytes(format, count) long, which outlives this.
  VectorRows(const VectorFormat& format, int64_t count, const std::byte* section);

  // Different rows from different threads at once.
  void set(int64_t row, const float* vector_D);
  // The row of another; the same bytes where the formats agree.
  void copy(int64_t row, const VectorRows& from, int64_t from_row);

  const std::byte* at(int64_t row) const { return rows_ + static_cast<size_t>(row) * row_bytes_; }
  // What products with the row are multiplied with.
  float scale(int64_t row) const { return scales_ == nullptr ? shared_scale_ : scales_[row]; }
  const VectorFormat& format() const { return format_; }
  int64_t capacity() const { return capacity_; }

  static size_t section_bytes(const VectorFormat& format, int64_t count);
  // The first `count` rows as a section.
  void write(BlobWriter& file, int64_t count) const;

 private:
  VectorFormat format_;
  size_t row_bytes_;
  int64_t capacity_;
  Pages owned_rows_;
  std::vector<float> owned_scales_;
  const std::byte* rows_ = nullptr;
  const float* scales_ = nullptr;  // i8 only
  float shared_scale_ = 1;
};

// A query in the stored form of the rows it is compared with.
struct StoredQuery {
  StoredQuery(const VectorFormat& format, const float* query_D);

  std::vector<uint64_t> words;
  float scale;
  const std::byte* data() const { return reinterpret_cast<const std::byte*>(words.data()); }
};

}  // namespace seekrl::search
