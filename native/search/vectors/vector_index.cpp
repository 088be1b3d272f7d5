// Rows, removed rows, and what the files of both indexes say about their vectors.
#include "search/vectors/vector_index.h"

#include <utility>

#include "base/error.h"

namespace seekrl::search {

void VectorIndex::add(int64_t first, const float* vectors_ND, int64_t num_vectors) {
  for (int64_t i = 0; i < num_vectors; ++i) {
    rows_.set(first + i, vectors_ND + i * format().dim);
    link(first + i);
  }
  num_rows_ += num_vectors;
}

void VectorIndex::add_rows(int64_t first, const VectorIndex& from, const std::vector<int64_t>& from_rows) {
  for (size_t i = 0; i < from_rows.size(); ++i) {
    const int64_t row = first + static_cast<int64_t>(i);
    rows_.copy(row, from.rows_, from_rows[i]);
    link(row);
  }
  num_rows_ += static_cast<int64_t>(from_rows.size());
}

void VectorIndex::remove(const std::vector<int64_t>& rows) {
  std::lock_guard lock(removed_mutex_);
  auto removed = std::make_shared<RowSet>(count());
  if (removed_ != nullptr) removed->insert(*removed_);
  for (const int64_t row : rows) {
    require(row >= 0 && row < count(), ErrorCode::kRange, "ids: expected 0 to ", count() - 1, ", got ", row);
    removed->insert(row);
  }
  removed_ = std::move(removed);
}

std::shared_ptr<const RowSet> VectorIndex::removed() const {
  std::lock_guard lock(removed_mutex_);
  return removed_;
}

VectorRows VectorIndex::read_rows(const std::string& path, const Blob& blob, std::optional<int64_t> capacity) {
  const VectorFormat format = format_from(blob.numbers());
  const int64_t num_rows = blob.numbers()[0];
  require(num_rows >= 0 && num_rows <= INT32_MAX, ErrorCode::kFormat, path, ": expected 0 to 2^31 - 1 rows, got ",
          num_rows);
  const size_t num_bytes = VectorRows::section_bytes(format, num_rows);
  require(blob.payload_bytes() >= num_bytes, ErrorCode::kFormat, path, ": expected ", num_bytes, " bytes of rows, got ",
          blob.payload_bytes());
  VectorRows mapped(format, num_rows, blob.payload());
  if (!capacity) return mapped;
  require(*capacity >= num_rows && *capacity <= INT32_MAX, ErrorCode::kRange,
          "capacity: expected at least the index's ", num_rows, " rows, got ", *capacity);
  VectorRows rows(format, *capacity);
  for (int64_t row = 0; row < num_rows; ++row) rows.copy(row, mapped, row);
  return rows;
}

void VectorIndex::write_removed(BlobWriter& file) const {
  const auto set = removed();
  if (set == nullptr) return;
  RowSet whole(count());
  whole.insert(*set);
  file.write(whole.words());
}

void VectorIndex::read_removed(const std::string& path, const Blob& blob, size_t offset) {
  const int64_t num_removed = blob.numbers()[4];
  auto set = std::make_shared<RowSet>(count());
  const size_t num_bytes = num_removed == 0 ? 0 : set->words().size() * sizeof(uint64_t);
  require(blob.payload_bytes() == offset + num_bytes, ErrorCode::kFormat, path, ": expected ", offset + num_bytes,
          " bytes after the header, got ", blob.payload_bytes());
  if (num_removed == 0) return;
  set->assign(blob.payload() + offset, false);
  require(set->count() == num_removed, ErrorCode::kFormat, path, ": expected ", num_removed, " removed rows, got ",
          set->count());
  removed_ = std::move(set);
}

BlobNumbers numbers_of(const VectorIndex& index) {
  const VectorFormat& format = index.format();
  const auto removed = index.removed();
  return {index.count(), format.dim, static_cast<int64_t>(format.metric), static_cast<int64_t>(format.scalar),
          removed == nullptr ? 0 : removed->count()};
}

VectorFormat format_from(const BlobNumbers& numbers) {
  require(numbers[2] >= 0 && numbers[2] <= 1 && numbers[3] >= 0 && numbers[3] <= 3, ErrorCode::kFormat,
          "the index file names a metric or a dtype that is not known");
  const VectorFormat format = {numbers[1], static_cast<Metric>(numbers[2]), static_cast<Scalar>(numbers[3])};
  check_format(format);
  return format;
}

}  // namespace seekrl::search
