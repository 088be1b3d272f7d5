// Stored tensors as rows of f32, from whatever blocks and from llama.cpp's order of the rows that rotary positions
// turn.
#pragma once

#include <cstdint>
#include <functional>

#include "base/mapped_file.h"
#include "model/gguf/ggml_blocks.h"
#include "model/weights.h"

namespace seekrl::model {

// Whether the tensor's bytes are not simply its numbers in their order.
bool needs_rows(const StoredTensor& stored);

// The rows of a tensor in the decoder's order, widened to f32.
class StoredRows {
 public:
  // ERR_FORMAT when its rows are no whole blocks or no whole heads, or it ends beyond the file, which must live as
  // long.
  StoredRows(const StoredTensor& stored, const MappedFile& file);

  int64_t count() const { return count_; }
  int64_t columns() const { return columns_; }
  // Rows [first, first + count) as their blocks lie in the file, whose memory is given back afterwards.
  using Visit = std::function<void(int64_t row, const uint8_t* blocks)>;
  void each(int64_t first, int64_t count, const Visit& visit) const;
  // The same rows, [count, columns].
  void read(int64_t first, int64_t count, float* to) const;

 private:
  // Where the decoder's row lies in the file.
  int64_t place_of(int64_t row) const;

  BlockFormat format_;
  int64_t count_, columns_;       // a vector has one column
  int64_t head_rows_;             // of each head, 0 where rows lie in their order
  size_t own_bytes_, row_bytes_;  // of the columns, and from one row to the next
  const MappedFile& file_;
  size_t offset_;
};

}  // namespace seekrl::model
