// Rounding to bf16, panels of pairs, and the products written plainly.
#include "kernels/products/bf16.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "kernels/rows.h"

namespace seekrl::kernels {

uint16_t to_bf16(float x) {
  const uint32_t bits = std::bit_cast<uint32_t>(x);
  if (std::isnan(x)) return static_cast<uint16_t>((bits >> 16) | 0x40u);
  return static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

float from_bf16(uint16_t x) { return std::bit_cast<float>(static_cast<uint32_t>(x) << 16); }

void pair_rows(uint16_t* panel, const uint16_t* rows, int64_t stride, int64_t k, int64_t columns) {
  for (int64_t i = 0; i < k; i += 2, panel += 2 * kPanelColumns) {
    const uint16_t *even = rows + i * stride, *odd = even + stride;
    if (columns < kPanelColumns || i + 1 == k) std::fill_n(panel, 2 * kPanelColumns, uint16_t{0});
    if (i + 1 == k) {
      for (int64_t column = 0; column < columns; ++column) panel[2 * column] = even[column];
    } else if (columns == kPanelColumns) {
      for (int64_t column = 0; column < kPanelColumns; ++column) {
        panel[2 * column] = even[column];
        panel[2 * column + 1] = odd[column];
      }
    } else {
      for (int64_t column = 0; column < columns; ++column) {
        panel[2 * column] = even[column];
        panel[2 * column + 1] = odd[column];
      }
    }
  }
}

void unpair_columns(uint16_t* rows, int64_t stride, const uint16_t* panel, int64_t columns, int64_t k) {
  transpose(reinterpret_cast<float*>(rows), stride / 2, reinterpret_cast<const float*>(panel), kPanelColumns, k / 2,
            columns);
}

void strip_columns(uint16_t* strips, const ValueRows& rows, int64_t count, int64_t k) {
  constexpr int64_t kColumns = Panel::kStripColumns;
  for (int64_t first = 0; first < count; first += kColumns) {
    transpose(reinterpret_cast<float*>(strips + first * k), kColumns,
              reinterpret_cast<const float*>(rows.data + first * rows.stride), rows.stride / 2,
              std::min(kColumns, count - first), k / 2);
  }
}

namespace reference {

namespace {

// sum + a_0 b_0 + a_1 b_1, the odd product first.
float add_pair(float sum, const uint16_t* a, const uint16_t* b) {
  sum = std::fma(from_bf16(a[1]), from_bf16(b[1]), sum);
  return std::fma(from_bf16(a[0]), from_bf16(b[0]), sum);
}

}  // namespace

void round_to_bf16(uint16_t* y, const float* x, int64_t n) {
  for (int64_t i = 0; i < n; ++i) y[i] = to_bf16(x[i]);
}

void few_matmul(float* c_MN, int64_t c_stride, const ValueRows& a_MK, const ValueRows& b_NK, int64_t m, int64_t n,
                int64_t k, const float* bias_N) {
  for (int64_t row = 0; row < m; ++row) {
    for (int64_t column = 0; column < n; ++column) {
      float sum = bias_N == nullptr ? 0.0f : bias_N[column];
      for (int64_t i = 0; i < k; i += 2) {
        sum = add_pair(sum, a_MK.data + row * a_MK.stride + i, b_NK.data + column * b_NK.stride + i);
      }
      c_MN[row * c_stride + column] = sum;
    }
  }
}

void pair_matmul(float* c_MN, int64_t c_stride, const ValueRows& a_MK, const Panel& panel, int64_t m, int64_t columns,
                 int64_t k, Start start) {
  for (int64_t row = 0; row < m; ++row) {
    for (int64_t column = 0; column < columns; ++column) {
      float& c = c_MN[row * c_stride + column];
      float sum = start == Start::kSelf ? c : 0.0f;
      const uint16_t* const pairs =
          panel.data + column / Panel::kStripColumns * panel.strip_stride + column % Panel::kStripColumns * 2;
      for (int64_t i = 0; i < k / 2; ++i) {
        sum = add_pair(sum, a_MK.data + row * a_MK.stride + 2 * i, pairs + i * panel.pair_stride);
      }
      c = sum;
    }
  }
}

}  // namespace reference

}  // namespace seekrl::kernels
