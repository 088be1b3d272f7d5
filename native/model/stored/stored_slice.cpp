// Rows are one run of bytes; columns are read out of whole rows.
#include "model/stored/stored_slice.h"

#include "base/error.h"
#include "model/gguf/ggml_blocks.h"

namespace seekrl::model {

StoredTensor stored_slice(const StoredTensor& stored, const Slice& slice) {
  const BlockFormat* format = block_format(stored.dtype);
  const auto dim = static_cast<size_t>(slice.dim);
  const bool fits = dim < stored.shape.size() && stored.shape[dim] == slice.whole;
  if (slice.is_all() || !fits || format == nullptr) return stored;
  const auto bytes_of = [&](int64_t count) {
    require(count % format->size == 0, ErrorCode::kFormat, stored.path, ": ", stored.name,
            ": tensorParallel: expected slices of whole blocks of ", format->size, " columns, got ", slice.count);
    return static_cast<uint64_t>(count / format->size) * format->bytes;
  };
  StoredTensor own = stored;
  own.shape[dim] = slice.count;
  const int64_t columns = stored.shape.size() > 1 ? stored.shape.back() : 1;
  if (dim == 0) {
    own.offset += static_cast<uint64_t>(slice.first) * bytes_of(columns);
    own.num_paired_heads = stored.num_paired_heads * slice.count / slice.whole;
    return own;
  }
  own.offset += bytes_of(slice.first);
  own.num_stored_columns = columns;
  return own;
}

}  // namespace seekrl::model
