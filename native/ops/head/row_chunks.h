// Rows of the head taken a chunk at a time, so that logits are never stored for all of them.
#pragma once

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <cstdint>

#include "ops/parallel.h"

namespace seekrl::ops {

// Logits of 128 MB at once: each chunk reads and writes the head's whole gradient, and all but one are made twice.
inline int64_t chunk_rows(int64_t vocab_size) { return std::max<int64_t>((int64_t{1} << 25) / vocab_size, 64); }

// Calls body(first row, rows of the chunk).
template <class Body>
void for_chunks(const at::Tensor& hidden_RD, int64_t vocab_size, const Body& body) {
  const int64_t num_rows = hidden_RD.size(0), rows = chunk_rows(vocab_size);
  for (int64_t first = 0; first < num_rows; first += rows) body(first, std::min(rows, num_rows - first));
}

// The same chunks from the last to the first.
template <class Body>
void for_chunks_backward(const at::Tensor& hidden_RD, int64_t vocab_size, const Body& body) {
  const int64_t num_rows = hidden_RD.size(0), rows = chunk_rows(vocab_size);
  for (int64_t first = (num_rows - 1) / rows * rows; first >= 0; first -= rows) {
    body(first, std::min(rows, num_rows - first));
  }
}

// Row-wise work over logits of V floats a row; an exponential costs about as much as 16 multiply-adds.
template <class Body>
void for_rows(int64_t num_rows, int64_t vocab_size, const Body& body) {
  constexpr int64_t kBlockRows = 8;
  claim_items((num_rows + kBlockRows - 1) / kBlockRows, num_rows * vocab_size * 16, [&](int64_t block) {
    const int64_t end = std::min(num_rows, (block + 1) * kBlockRows);
    for (int64_t row = block * kBlockRows; row < end; ++row) body(row);
  });
}

}  // namespace seekrl::ops
