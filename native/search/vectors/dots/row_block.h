// Stored rows that many queries are multiplied with, the inner loop of a scan.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "search/vectors/vector_codec.h"

namespace seekrl::search {

class RowBlock {
 public:
  static constexpr int64_t kRows = 64;

  virtual ~RowBlock() = default;

  // Takes `num_rows`, at most kRows, of rows that lie one after the other in the stored form and stay while they are
  // multiplied.
  virtual void load(const std::byte* rows, int64_t num_rows) = 0;

  // products_QR[q * kRows + r] of the loaded rows; queries in the stored form, with zeros up to a multiple of 8 bytes.
  // As Dots: f32 and bf16 are added up in f32, i8 and b1 exactly, and a product's bits depend on its two vectors only.
  // 2 kRows Q D FLOP.
  virtual void multiply(const std::byte* const* queries, int64_t num_queries, float* products_QR) const = 0;
};

// The fastest of this processor: lanes of rows where there is AVX-512 with VNNI and BF16, pair by pair elsewhere.
std::unique_ptr<RowBlock> make_row_block(const VectorFormat& format);

namespace pairs {
std::unique_ptr<RowBlock> make_row_block(const VectorFormat& format);
}

namespace avx512 {
std::unique_ptr<RowBlock> make_row_block(const VectorFormat& format);
}

}  // namespace seekrl::search
