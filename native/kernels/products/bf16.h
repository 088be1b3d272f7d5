// Products of bf16 matrices with f32 sums, and rounding to bf16; CPU. Factors are bits of bf16: the upper half of an
// f32.
//
// The order in which an element's products are added is fixed: it does not depend on M, N, on the tile that holds it
// nor on the rows beside it. Between instruction sets the last bits of a sum differ.
#pragma once

#include <cstdint>

#include "kernels/kernel.h"
#include "kernels/products/matmul.h"

namespace seekrl::kernels {

// Rounded to the nearest, ties to even; not a number stays so.
uint16_t to_bf16(float x);
float from_bf16(uint16_t x);
// Over n elements.
namespace reference {
void round_to_bf16(uint16_t* y, const float* x, int64_t n);
}
SEEKRL_KERNEL(round_to_bf16);

// Rows of values along k, `stride` values apart.
struct ValueRows {
  const uint16_t* data = nullptr;
  int64_t stride = 0;
};

// A panel holds a matrix of K rows and at most 64 columns for pair_matmul: two rows side by side, value (i, column) at
// panel[i / 2 * 128 + column * 2 + i % 2], even(K) * 64 values. An odd last row is paired with zeros; so is, in columns
// beyond the matrix's, every row.
inline constexpr int64_t even(int64_t k) { return (k + 1) / 2 * 2; }

// A panel, or one in strips of 16 columns, each of them contiguous along K: value (i, column) is at
// data[column / 16 * strip_stride + i / 2 * pair_stride + column % 16 * 2 + i % 2].
struct Panel {
  const uint16_t* data;
  int64_t pair_stride, strip_stride;

  Panel(const uint16_t* panel) : data(panel), pair_stride(2 * kPanelColumns), strip_stride(2 * kStripColumns) {}
  Panel(const uint16_t* strips, int64_t k)
      : data(strips), pair_stride(2 * kStripColumns), strip_stride(k * kStripColumns) {}

  static constexpr int64_t kStripColumns = 16;
};

// The panel of `columns` columns of K rows, `stride` values apart.
void pair_rows(uint16_t* panel, const uint16_t* rows, int64_t stride, int64_t k, int64_t columns);

// The columns of a panel as rows of even K values: those whose strips are the panel's columns.
void unpair_columns(uint16_t* rows, int64_t stride, const uint16_t* panel, int64_t columns, int64_t k);

// Strips whose columns are `count` rows of K values; K and the rows' stride are even. What stands in columns beyond is
// as it was.
void strip_columns(uint16_t* strips, const ValueRows& rows, int64_t count, int64_t k);

// C = start + A_MK panel for the panel's first `columns` columns; kSelf adds to C, kBias is not taken. K is even. An
// element's order is one chain over k, on AMX two, of even and odd k, joined after every 16 pairs. One thread;
// 2 M 64 K FLOP.
namespace reference {
void pair_matmul(float* c_MN, int64_t c_stride, const ValueRows& a_MK, const Panel& panel, int64_t m, int64_t columns,
                 int64_t k, Start start);
}
SEEKRL_KERNEL(pair_matmul);

// The rows of A that few_matmul takes at most: it is bound by reading B, which it reads once.
inline constexpr int kFewRowsOfPairs = 16;

// C_MN = bias_N + A_MK B_NK^T, rows of both along k, as activations and Hugging Face's weights lie: one chain over k
// from the bias, the bits of pair_matmul over panels of B on top of it, but not on AMX. bias_N may be null: zero. K and
// the strides are even. One thread; 2 M N K FLOP.
namespace reference {
void few_matmul(float* c_MN, int64_t c_stride, const ValueRows& a_MK, const ValueRows& b_NK, int64_t m, int64_t n,
                int64_t k, const float* bias_N);
}
SEEKRL_KERNEL(few_matmul);

}  // namespace seekrl::kernels
