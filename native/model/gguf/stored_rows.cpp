// Rows are widened to f32 where they lie.
#include "model/gguf/stored_rows.h"

#include "base/error.h"

namespace seekrl::model {

namespace {

BlockFormat format_of(const StoredTensor& stored) {
  if (const BlockFormat* format = block_format(stored.dtype)) return *format;
  fail(ErrorCode::kFormat, stored.path, ": ", stored.name,
       ": type: expected F32, F16, BF16 or a type of GGUF's blocks, got ", stored.dtype);
}

}  // namespace

bool needs_rows(const StoredTensor& stored) {
  const BlockFormat* format = block_format(stored.dtype);
  return stored.num_paired_heads > 0 || stored.num_stored_columns > 0 || (format != nullptr && format->size > 1);
}

StoredRows::StoredRows(const StoredTensor& stored, const MappedFile& file)
    : format_(format_of(stored)),
      count_(stored.shape.empty() ? 1 : stored.shape.front()),
      columns_(stored.shape.size() > 1 ? stored.shape.back() : 1),
      head_rows_(stored.num_paired_heads > 0 ? count_ / stored.num_paired_heads : 0),
      own_bytes_(static_cast<size_t>(columns_ / format_.size) * format_.bytes),
      row_bytes_(stored.num_stored_columns == 0
                     ? own_bytes_
                     : static_cast<size_t>(stored.num_stored_columns / format_.size) * format_.bytes),
      file_(file),
      offset_(stored.offset) {
  require(stored.shape.size() <= 2 && columns_ % format_.size == 0, ErrorCode::kFormat, stored.path, ": ", stored.name,
          ": expected rows of ", stored.dtype, " in blocks of ", format_.size, ", got ", columns_, " columns");
  const size_t num_bytes = count_ == 0 ? 0 : row_bytes_ * static_cast<size_t>(count_ - 1) + own_bytes_;
  require(offset_ <= file.size() && num_bytes <= file.size() - offset_, ErrorCode::kFormat, stored.path, ": ",
          stored.name, " ends beyond the file's ", file.size(), " bytes");
  const int64_t heads = stored.num_paired_heads;
  require(heads == 0 || count_ % (2 * heads) == 0, ErrorCode::kFormat, stored.path, ": ", stored.name, ": expected ",
          heads, " heads of pairs of rows, got ", count_, " rows");
}

int64_t StoredRows::place_of(int64_t row) const {
  if (head_rows_ == 0) return row;
  // Rows p and p + C / 2 of a head, which turn together, are kept as 2 p and 2 p + 1.
  const int64_t place = row % head_rows_, half = head_rows_ / 2;
  return row + place % half * 2 + place / half - place;
}

void StoredRows::each(int64_t first, int64_t count, const Visit& visit) const {
  const auto* bytes = reinterpret_cast<const uint8_t*>(file_.data()) + offset_;
  for (int64_t row = first; row < first + count; ++row) {
    visit(row, bytes + static_cast<size_t>(place_of(row)) * row_bytes_);
  }
  file_.release(offset_ + static_cast<size_t>(first) * row_bytes_,
                static_cast<size_t>(count - 1) * row_bytes_ + own_bytes_);
}

void StoredRows::read(int64_t first, int64_t count, float* to) const {
  each(first, count, [&](int64_t row, const uint8_t* blocks) {
    format_.widen(blocks, columns_ / format_.size, to + (row - first) * columns_);
  });
}

}  // namespace seekrl::model
