// A block that multiplies one pair of vectors at a time, and the choice of the block.
#include "search/vectors/dots/row_block.h"

#include <array>

#include "search/vectors/dots/dots.h"

namespace seekrl::search {

namespace {

class PairBlock : public RowBlock {
 public:
  explicit PairBlock(const VectorFormat& format)
      : dots_(pairs::dots_of(format.scalar)), dim_(format.dim), row_bytes_(format.bytes()) {}

  void load(const std::byte* rows, int64_t num_rows) override {
    num_rows_ = num_rows;
    for (int64_t r = 0; r < num_rows; ++r) rows_[static_cast<size_t>(r)] = rows + static_cast<size_t>(r) * row_bytes_;
  }

  void multiply(const std::byte* const* queries, int64_t num_queries, float* products_QR) const override {
    for (int64_t q = 0; q < num_queries; ++q)
      dots_(rows_.data(), num_rows_, queries + q, 1, dim_, products_QR + q * kRows);
  }

 private:
  Dots dots_;
  int64_t dim_;
  size_t row_bytes_;
  int64_t num_rows_ = 0;
  std::array<const std::byte*, kRows> rows_{};
};

}  // namespace

std::unique_ptr<RowBlock> pairs::make_row_block(const VectorFormat& format) {
  return std::make_unique<PairBlock>(format);
}

std::unique_ptr<RowBlock> make_row_block(const VectorFormat& format) {
  return avx512::is_supported() ? avx512::make_row_block(format) : pairs::make_row_block(format);
}

}  // namespace seekrl::search
