// Packing, and the product written plainly.
#include "kernels/products/packed.h"

#include <algorithm>
#include <cmath>

namespace seekrl::kernels {

void pack_weight(float* packed, const float* weight_NK, int64_t n, int64_t k) {
  std::fill_n(packed, num_packed_panels(n) * kPanelColumns * k, 0.0f);
  for (int64_t row = 0; row < n; ++row) {
    float* panel = packed + row / kPanelColumns * kPanelColumns * k + row % kPanelColumns;
    for (int64_t i = 0; i < k; ++i) panel[i * kPanelColumns] = weight_NK[row * k + i];
  }
}

namespace reference {

void packed_matmul(float* c_MN, int64_t c_stride, const float* a_MK, int64_t a_stride, const float* panel, int64_t m,
                   int64_t columns, int64_t k, const float* bias_N) {
  for (int64_t row = 0; row < m; ++row) {
    for (int64_t column = 0; column < columns; ++column) {
      float sum = bias_N == nullptr ? 0.0f : bias_N[column];
      for (int64_t i = 0; i < k; ++i) {
        sum = std::fma(a_MK[row * a_stride + i], panel[i * kPanelColumns + column], sum);
      }
      c_MN[row * c_stride + column] = sum;
    }
  }
}

}  // namespace reference

}  // namespace seekrl::kernels
