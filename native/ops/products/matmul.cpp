// How a product is cut: panels of 64 columns, and blocks of rows long enough to repay packing the panel.
#include "ops/products/matmul.h"

#include <algorithm>

#include "ops/parallel.h"
#include "ops/scratch.h"

namespace seekrl::ops {

namespace {

using kernels::kPanelColumns;

int64_t block_rows(int64_t m, int64_t num_panels) {
  int64_t rows = 384;
  while (rows > 96 && (m + rows - 1) / rows * num_panels < 4 * (atens_helpers() + 1)) rows /= 2;
  return std::min(rows, m);
}

}  // namespace

void parallel_matmul(float* c_MN, int64_t c_stride, const kernels::MatrixView& a_MK, const kernels::MatrixView& b_KN,
                     int64_t m, int64_t n, int64_t k, kernels::Start start, const float* bias_N) {
  if (m == 0 || n == 0) return;
  const int64_t num_panels = (n + kPanelColumns - 1) / kPanelColumns;
  const int64_t rows = block_rows(m, num_panels);
  const int64_t num_items = (m + rows - 1) / rows * num_panels;
  // Few rows are bound by reading B, which costs as much as about eight rows of arithmetic.
  claim_items(num_items, std::max<int64_t>(m, 8) * n * k, [&](int64_t item) {
    const int64_t row = item / num_panels * rows, column = item % num_panels * kPanelColumns;
    kernels::matmul(c_MN + row * c_stride + column, c_stride,
                    {a_MK.data + row * a_MK.row_stride, a_MK.row_stride, a_MK.column_stride},
                    {b_KN.data + column * b_KN.column_stride, b_KN.row_stride, b_KN.column_stride},
                    std::min(rows, m - row), std::min(kPanelColumns, n - column), k, start,
                    bias_N == nullptr ? nullptr : bias_N + column,
                    scratch<float, Scratch::kPanel>(kernels::kMatmulScratchFloats));
  });
}

}  // namespace seekrl::ops
