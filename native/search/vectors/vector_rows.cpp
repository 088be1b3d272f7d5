// Rows of one format with their scales, owned or mapped.
#include "search/vectors/vector_rows.h"

#include <algorithm>

namespace seekrl::search {

namespace {

// i8 rows have a scale each, those of other types share one.
float shared_scale(const VectorFormat& format) {
  return format.scalar == Scalar::kI8 ? 0 : scale_of_stored(format, nullptr);
}

}  // namespace

VectorRows::VectorRows(const VectorFormat& format, int64_t capacity)
    : format_(format),
      row_bytes_(format.bytes()),
      capacity_(capacity),
      owned_rows_(static_cast<size_t>(capacity) * row_bytes_),
      rows_(owned_rows_.data()),
      shared_scale_(shared_scale(format)) {
  if (format.scalar == Scalar::kI8) owned_scales_.resize(static_cast<size_t>(capacity));
  scales_ = format.scalar == Scalar::kI8 ? owned_scales_.data() : nullptr;
}

VectorRows::VectorRows(const VectorFormat& format, int64_t count, const std::byte* section)
    : format_(format),
      row_bytes_(format.bytes()),
      capacity_(count),
      rows_(section),
      shared_scale_(shared_scale(format)) {
  if (format.scalar != Scalar::kI8) return;
  scales_ = reinterpret_cast<const float*>(section + padded(static_cast<size_t>(count) * row_bytes_));
}

void VectorRows::set(int64_t row, const float* vector_D) {
  std::byte* stored = owned_rows_.data() + static_cast<size_t>(row) * row_bytes_;
  encode_vector(format_, vector_D, stored);
  if (scales_ != nullptr) owned_scales_[static_cast<size_t>(row)] = scale_of_stored(format_, stored);
}

void VectorRows::copy(int64_t row, const VectorRows& from, int64_t from_row) {
  if (from.format_ == format_) {
    std::byte* stored = owned_rows_.data() + static_cast<size_t>(row) * row_bytes_;
    std::copy_n(from.at(from_row), row_bytes_, stored);
    if (scales_ != nullptr) owned_scales_[static_cast<size_t>(row)] = from.scale(from_row);
    return;
  }
  std::vector<float> vector(static_cast<size_t>(format_.dim));
  decode_vector(from.format_, from.at(from_row), vector.data());
  set(row, vector.data());
}

size_t VectorRows::section_bytes(const VectorFormat& format, int64_t count) {
  const auto num_rows = static_cast<size_t>(count);
  const size_t scales = format.scalar == Scalar::kI8 ? padded(num_rows * sizeof(float)) : 0;
  return padded(num_rows * format.bytes()) + scales;
}

void VectorRows::write(BlobWriter& file, int64_t count) const {
  const auto num_rows = static_cast<size_t>(count);
  file.write_padded(rows_, num_rows * row_bytes_);
  if (scales_ != nullptr) file.write_padded(scales_, num_rows * sizeof(float));
}

StoredQuery::StoredQuery(const VectorFormat& format, const float* query_D)
    : words((format.bytes() + sizeof(uint64_t) - 1) / sizeof(uint64_t)) {
  encode_query(format, query_D, words.data());
  scale = scale_of_stored(format, words.data());
}

}  // namespace seekrl::search
