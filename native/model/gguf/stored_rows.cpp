// Rows are widened to f32, and rounded once to a value's dtype.
#include "model/gguf/stored_rows.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <cstring>

#include "base/error.h"

namespace seekrl::model {

namespace {

template <class Number>
void widen(const uint8_t* bytes, float* to) {
  Number number;
  std::memcpy(&number, bytes, sizeof(number));
  *to = static_cast<float>(number);
}

// A plain number is a block of one.
BlockFormat format_of(const StoredTensor& stored) {
  if (const BlockFormat* format = block_format(stored.dtype)) return *format;
  if (stored.dtype == "F32") return {1, 4, widen<float>};
  if (stored.dtype == "F16") return {1, 2, widen<at::Half>};
  if (stored.dtype == "BF16") return {1, 2, widen<at::BFloat16>};
  fail(ErrorCode::kFormat, stored.path, ": ", stored.name,
       ": type: expected F32, F16, BF16, Q8_0, Q4_0, Q4_K or Q6_K, got ", stored.dtype);
}

}  // namespace

bool needs_rows(const StoredTensor& stored) {
  return stored.num_paired_heads > 0 || block_format(stored.dtype) != nullptr;
}

StoredRows::StoredRows(const StoredTensor& stored, const MappedFile& file)
    : format_(format_of(stored)),
      count_(stored.shape.empty() ? 1 : stored.shape.front()),
      columns_(stored.shape.size() > 1 ? stored.shape.back() : 1),
      head_rows_(stored.num_paired_heads > 0 ? count_ / stored.num_paired_heads : 0),
      row_bytes_(static_cast<size_t>(columns_ / format_.size) * format_.bytes),
      bytes_(reinterpret_cast<const uint8_t*>(file.data()) + stored.offset) {
  require(stored.shape.size() <= 2 && columns_ % format_.size == 0, ErrorCode::kFormat, stored.path, ": ", stored.name,
          ": expected rows of ", stored.dtype, " in blocks of ", format_.size, ", got ", columns_, " columns");
  require(stored.offset <= file.size() && row_bytes_ * static_cast<size_t>(count_) <= file.size() - stored.offset,
          ErrorCode::kFormat, stored.path, ": ", stored.name, " ends beyond the file's ", file.size(), " bytes");
  const int64_t heads = stored.num_paired_heads;
  require(heads == 0 || count_ % (2 * heads) == 0, ErrorCode::kFormat, stored.path, ": ", stored.name, ": expected ",
          heads, " heads of pairs of rows, got ", count_, " rows");
}

void StoredRows::read(int64_t row, float* to) const {
  if (head_rows_ > 0) {
    // Rows p and p + C / 2 of a head, which turn together, are kept as 2 p and 2 p + 1.
    const int64_t place = row % head_rows_, half = head_rows_ / 2;
    row += place % half * 2 + place / half - place;
  }
  const uint8_t* from = bytes_ + static_cast<size_t>(row) * row_bytes_;
  for (int64_t block = 0; block < columns_ / format_.size; ++block) {
    format_.widen(from + static_cast<size_t>(block) * format_.bytes, to + block * format_.size);
  }
}

void copy_rows(const StoredTensor& stored, const MappedFile& file, at::Tensor& value) {
  constexpr int64_t kAtOnce = 64;
  const StoredRows rows(stored, file);
  for (int64_t first = 0; first < rows.count(); first += kAtOnce) {
    const int64_t count = std::min(kAtOnce, rows.count() - first);
    const at::Tensor wide = at::empty({count, rows.columns()}, at::kFloat);
    for (int64_t i = 0; i < count; ++i) rows.read(first + i, wide.mutable_data_ptr<float>() + i * rows.columns());
    at::Tensor target = value.narrow(0, first, count);
    target.copy_(wide.view(target.sizes()));
  }
}

}  // namespace seekrl::model
