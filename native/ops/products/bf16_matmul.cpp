// How the products are cut into items that threads claim, so that what an item reads again stays in its cache.
#include "ops/products/bf16_matmul.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>

#include <algorithm>

#include "kernels/isa.h"
#include "kernels/products/bf16.h"
#include "kernels/rows.h"
#include "ops/parallel.h"
#include "ops/scratch.h"

namespace seekrl::ops {

namespace {

using kernels::even;
using kernels::kPanelColumns;

// Rows of x that one item multiplies, so many that they repay a panel.
constexpr int64_t kRowsAtOnce = 512;
// Rows of a weight that one item multiplies: 128 KB take some microseconds to read, a claim takes a fraction of one.
constexpr int64_t kItemValues = 65536;
// Values of a weight that an item keeps in its second-level cache: 1 MB.
constexpr int64_t kCachedValues = int64_t{1} << 19;
// kernels::transpose writes rows of a multiple of so many values.
constexpr int64_t kWholeColumns = 16;
// Rows of a panel that is laid out and multiplied at once: 64 KB.
constexpr int64_t kPanelRows = 512;

int64_t num_blocks(int64_t size, int64_t block) { return (size + block - 1) / block; }

void round_into(uint16_t* to, const float* x, int64_t x_stride, int64_t m, int64_t k, int num_helpers) {
  constexpr int64_t kRows = 32;
  const int64_t stride = even(k);
  share_items(num_blocks(m, kRows), num_helpers, m * k, [&](int64_t block) {
    for (int64_t row = block * kRows; row < std::min(m, (block + 1) * kRows); ++row) {
      kernels::round_to_bf16(to + row * stride, x + row * x_stride, k);
      if (stride > k) to[row * stride + k] = 0;
    }
  });
}

// All panels of `rows`: that of columns [64 p, 64 p + 64) begins at p * 64 * even(m).
const uint16_t* panels_of(uint16_t* panels, const Bf16Rows& rows, int num_helpers) {
  share_items(num_blocks(rows.k, kPanelColumns), num_helpers, rows.m * rows.k, [&](int64_t p) {
    const int64_t column = p * kPanelColumns;
    kernels::pair_rows(panels + column * even(rows.m), rows.data + column, rows.stride, rows.m,
                       std::min(kPanelColumns, rows.k - column));
  });
  return panels;
}

// Rows of x as the columns of panels in strips, 64 each, k values apart.
const uint16_t* column_panels_of(uint16_t* panels, const Bf16Rows& x, int num_helpers) {
  share_items(num_blocks(x.m, kPanelColumns), num_helpers, x.m * x.k, [&](int64_t p) {
    const int64_t row = p * kPanelColumns;
    kernels::strip_columns(panels + row * x.k, {x.data + row * x.stride, x.stride}, std::min(kPanelColumns, x.m - row),
                           x.k);
  });
  return panels;
}

// How many values stand between two rows that unpair_columns writes: it fills up groups of 16 pairs.
int64_t row_stride(int64_t k) { return (k + 31) / 32 * 32; }

// The columns of `rows` as rows.
const uint16_t* columns_of(uint16_t* columns, const Bf16Rows& rows, int num_helpers) {
  const int64_t stride = row_stride(rows.m);
  share_items(num_blocks(rows.k, kPanelColumns), num_helpers, rows.m * rows.k, [&](int64_t p) {
    const int64_t column = p * kPanelColumns, count = std::min(kPanelColumns, rows.k - column);
    uint16_t* const panel = scratch<uint16_t, Scratch::kPanel>(even(rows.m) * kPanelColumns);
    kernels::pair_rows(panel, rows.data + column, rows.stride, rows.m, count);
    kernels::unpair_columns(columns + column * stride, stride, panel, count, even(rows.m));
  });
  return columns;
}

// The rows themselves, or, where K is odd, copies with a zero behind each.
kernels::ValueRows even_rows(const kernels::ValueRows& rows, int64_t count, int64_t k) {
  if (k % 2 == 0) return rows;
  uint16_t* const copies = scratch<uint16_t, Scratch::kRows>(count * even(k));
  for (int64_t r = 0; r < count; ++r) {
    std::copy_n(rows.data + r * rows.stride, k, copies + r * even(k));
    copies[r * even(k) + k] = 0;
  }
  return {copies, even(k)};
}

// y = bias + x weight^T for at most 64 rows of the weight, which become a panel a part of K at a time: an f32 sum that
// rests in memory meanwhile is the same sum.
void multiply_rows(float* y, int64_t y_stride, const kernels::ValueRows& x, const kernels::ValueRows& weight, int64_t m,
                   int64_t n, int64_t k, const float* bias) {
  uint16_t* const strips = scratch<uint16_t, Scratch::kPanel>(kPanelRows * kPanelColumns);
  for (int64_t row = 0; row < m && bias != nullptr; ++row) std::copy_n(bias, n, y + row * y_stride);
  for (int64_t first = 0; first < k; first += kPanelRows) {
    const int64_t count = std::min(kPanelRows, k - first);
    kernels::strip_columns(strips, {weight.data + first, weight.stride}, n, count);
    kernels::pair_matmul(y, y_stride, {x.data + first, x.stride}, {strips, count}, m, n, count,
                         first == 0 && bias == nullptr ? kernels::Start::kZero : kernels::Start::kSelf);
  }
}

// Rows of the weight times 64 rows of x: y^T, turned.
void multiply_panel(float* y, int64_t y_stride, const kernels::Panel& panel, const uint16_t* weight, const float* bias,
                    int64_t m, int64_t n, int64_t k, Activation activation) {
  float* const turned = scratch<float, Scratch::kTurned>(2 * kPanelColumns * kPanelColumns);
  for (int64_t column = 0; column < n && bias != nullptr; ++column) {
    std::fill_n(turned + column * kPanelColumns, m, bias[column]);
  }
  kernels::pair_matmul(turned, kPanelColumns, {weight, k}, panel, n, m, k,
                       bias == nullptr ? kernels::Start::kZero : kernels::Start::kSelf);
  if (n % kWholeColumns == 0) {
    kernels::transpose(y, y_stride, turned, kPanelColumns, n, m);
  } else {
    float* const block = turned + kPanelColumns * kPanelColumns;
    kernels::transpose(block, kPanelColumns, turned, kPanelColumns, n, m);
    for (int64_t row = 0; row < m; ++row) std::copy_n(block + row * kPanelColumns, n, y + row * y_stride);
  }
  if (activation != Activation::kGelu) return;
  for (int64_t row = 0; row < m; ++row) kernels::gelu(y + row * y_stride, y + row * y_stride, n);
}

}  // namespace

at::Tensor rounded_rows(const at::Tensor& x_MK) {
  const at::Tensor x = x_MK.contiguous();
  const int64_t m = x.size(0), k = x.size(1);
  at::Tensor rounded = at::empty({m, even(k)}, x.options().dtype(at::kBFloat16));
  round_into(static_cast<uint16_t*>(rounded.mutable_data_ptr()), x.const_data_ptr<float>(), k, m, k, atens_helpers());
  return rounded;
}

Bf16Rows bf16_rows(const at::Tensor& rounded, int64_t k) {
  return {static_cast<const uint16_t*>(rounded.const_data_ptr()), rounded.size(0), k, rounded.size(1)};
}

Bf16Rows round_rows(const float* x, int64_t x_stride, int64_t m, int64_t k, int num_helpers) {
  uint16_t* const to = scratch<uint16_t, Scratch::kRounded>(m * even(k));
  round_into(to, x, x_stride, m, k, num_helpers);
  return {to, m, k, even(k)};
}

void bf16_linear(float* y_MN, int64_t y_stride, const Bf16Rows& x_MK, const uint16_t* weight_NK, int64_t n,
                 const float* bias_N, Activation activation, int num_helpers) {
  const auto [x, m, k, stride] = x_MK;
  if (m == 0) return;
  // Up to one panel of x costs less to lay out than panels of the weight.
  const bool is_one_panel = m > kernels::kFewRowsOfPairs && m <= kPanelColumns;
  if (k % 2 == 0 && (kernels::has_tiles() || is_one_panel)) {
    return bf16_linear_by_panels(y_MN, y_stride, x_MK, weight_NK, n, bias_N, activation, num_helpers);
  }
  const bool is_few = m <= kernels::kFewRowsOfPairs && !kernels::has_tiles();
  const int64_t rows = is_few ? m : kRowsAtOnce;
  const int64_t columns = is_few ? std::clamp<int64_t>(kItemValues / k / 16 * 16, 16, 256) : kPanelColumns;
  const int64_t num_columns = num_blocks(n, columns);
  // Few rows are bound by reading the weight, which costs as much as about eight rows of arithmetic.
  share_items(num_columns * num_blocks(m, rows), num_helpers, std::max<int64_t>(m, 8) * n * k, [&](int64_t item) {
    const int64_t row = item / num_columns * rows, column = item % num_columns * columns;
    const int64_t num_rows = std::min(rows, m - row), width = std::min(columns, n - column);
    float* const y = y_MN + row * y_stride + column;
    const float* const bias = bias_N == nullptr ? nullptr : bias_N + column;
    const kernels::ValueRows weight = even_rows({weight_NK + column * k, k}, width, k);
    if (is_few) {
      kernels::few_matmul(y, y_stride, {x + row * stride, stride}, weight, num_rows, width, even(k), bias);
    } else {
      multiply_rows(y, y_stride, {x + row * stride, stride}, weight, num_rows, width, even(k), bias);
    }
    if (activation == Activation::kNone) return;
    for (int64_t r = 0; r < num_rows; ++r) kernels::gelu(y + r * y_stride, y + r * y_stride, width);
  });
}

void bf16_linear_by_panels(float* y_MN, int64_t y_stride, const Bf16Rows& x_MK, const uint16_t* weight_NK, int64_t n,
                           const float* bias_N, Activation activation, int num_helpers) {
  const int64_t m = x_MK.m, k = x_MK.k, num_panels = num_blocks(m, kPanelColumns);
  const uint16_t* const panels =
      column_panels_of(scratch<uint16_t, Scratch::kPanels>(num_panels * kPanelColumns * k), x_MK, num_helpers);
  // An item's rows of the weight stay in its second-level cache: the more they are, the fewer times all panels pass by.
  const int64_t num_parts = num_blocks(n, kPanelColumns),
                most = std::max<int64_t>(kCachedValues / (k * kPanelColumns), 1);
  const int64_t parts = std::clamp<int64_t>(num_parts / (4 * (num_helpers + 1)), 1, most);
  share_items(num_blocks(num_parts, parts), num_helpers, std::max<int64_t>(m, 8) * n * k, [&](int64_t item) {
    const int64_t first = item * parts * kPanelColumns, end = std::min(n, first + parts * kPanelColumns);
    for (int64_t row = 0; row < m; row += kPanelColumns) {
      for (int64_t column = first; column < end; column += kPanelColumns) {
        multiply_panel(y_MN + row * y_stride + column, y_stride, {panels + row * k, k}, weight_NK + column * k,
                       bias_N == nullptr ? nullptr : bias_N + column, std::min(kPanelColumns, m - row),
                       std::min(kPanelColumns, end - column), k, activation);
      }
    }
  });
}

void bf16_input_grad(float* x_grad_MK, const Bf16Rows& y_grad_MN, const uint16_t* weight_NK, int64_t k,
                     int num_helpers) {
  const auto [y_grad, m, n, stride] = y_grad_MN;
  const int64_t num_panels = num_blocks(k, kPanelColumns);
  share_items(num_panels * num_blocks(m, kRowsAtOnce), num_helpers, m * n * k, [&](int64_t item) {
    const int64_t row = item / num_panels * kRowsAtOnce, column = item % num_panels * kPanelColumns;
    const int64_t columns = std::min(kPanelColumns, k - column);
    uint16_t* const panel = scratch<uint16_t, Scratch::kPanel>(kPanelRows * kPanelColumns);
    for (int64_t first = 0; first < n; first += kPanelRows) {
      const int64_t count = std::min(kPanelRows, n - first);
      kernels::pair_rows(panel, weight_NK + first * k + column, k, count, columns);
      kernels::pair_matmul(x_grad_MK + row * k + column, k, {y_grad + row * stride + first, stride}, panel,
                           std::min(kRowsAtOnce, m - row), columns, even(count),
                           first == 0 ? kernels::Start::kZero : kernels::Start::kSelf);
    }
  });
}

void bf16_weight_grad(float* weight_grad_NK, const Bf16Rows& y_grad_MN, const Bf16Rows& x_MK, int num_helpers) {
  const int64_t m = x_MK.m, n = y_grad_MN.k, k = x_MK.k, depth = even(m), stride = row_stride(m);
  const int64_t num_rows = num_blocks(n, kPanelColumns), num_columns = num_blocks(k, kPanelColumns);
  const uint16_t* const rows = columns_of(scratch<uint16_t, Scratch::kRows>(n * stride), y_grad_MN, num_helpers);
  const uint16_t* const panels =
      panels_of(scratch<uint16_t, Scratch::kPanels>(num_columns * kPanelColumns * depth), x_MK, num_helpers);
  share_items(num_rows * num_columns, num_helpers, m * n * k, [&](int64_t item) {
    const int64_t row = item / num_columns * kPanelColumns, column = item % num_columns * kPanelColumns;
    kernels::pair_matmul(weight_grad_NK + row * k + column, k, {rows + row * stride, stride}, panels + column * depth,
                         std::min(kPanelColumns, n - row), std::min(kPanelColumns, k - column), depth,
                         kernels::Start::kSelf);
  });
}

}  // namespace seekrl::ops
