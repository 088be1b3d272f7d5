// Packing, rounding to bf16, and the products written plainly.
#include "kernels/packed.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace seekrl::kernels {

namespace {

// steps: how many values of one output lie side by side.
template <class Value>
void pack(Value* packed, const Value* weight_NK, int64_t n, int64_t k, int64_t steps) {
  std::fill_n(packed, num_packed_panels(n) * kPackedColumns * k, Value{});
  for (int64_t row = 0; row < n; ++row) {
    Value* panel = packed + row / kPackedColumns * kPackedColumns * k + row % kPackedColumns * steps;
    for (int64_t i = 0; i < k; ++i) panel[i / steps * steps * kPackedColumns + i % steps] = weight_NK[row * k + i];
  }
}

}  // namespace

uint16_t to_bf16(float x) {
  const uint32_t bits = std::bit_cast<uint32_t>(x);
  if (std::isnan(x)) return static_cast<uint16_t>((bits >> 16) | 0x40u);
  return static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

float from_bf16(uint16_t x) { return std::bit_cast<float>(static_cast<uint32_t>(x) << 16); }

void pack_weight(float* packed, const float* weight_NK, int64_t n, int64_t k) { pack(packed, weight_NK, n, k, 1); }

void pack_weight(uint16_t* packed, const uint16_t* weight_NK, int64_t n, int64_t k) {
  pack(packed, weight_NK, n, k, 2);
}

namespace reference {

void round_to_bf16(uint16_t* y, const float* x, int64_t n) {
  for (int64_t i = 0; i < n; ++i) y[i] = to_bf16(x[i]);
}

void packed_matmul(float* c_MN, int64_t c_stride, const float* a_MK, int64_t a_stride, const float* panel, int64_t m,
                   int64_t columns, int64_t k, const float* bias_N) {
  for (int64_t row = 0; row < m; ++row) {
    for (int64_t column = 0; column < columns; ++column) {
      float sum = bias_N == nullptr ? 0.0f : bias_N[column];
      for (int64_t i = 0; i < k; ++i) {
        sum = std::fma(a_MK[row * a_stride + i], panel[i * kPackedColumns + column], sum);
      }
      c_MN[row * c_stride + column] = sum;
    }
  }
}

void packed_matmul_bf16(float* c_MN, int64_t c_stride, const uint16_t* a_MK, int64_t a_stride, const uint16_t* panel,
                        int64_t m, int64_t columns, int64_t k, const float* bias_N) {
  for (int64_t row = 0; row < m; ++row) {
    for (int64_t column = 0; column < columns; ++column) {
      float sum = bias_N == nullptr ? 0.0f : bias_N[column];
      for (int64_t i = 0; i < k; i += 2) {
        const uint16_t *a = a_MK + row * a_stride + i, *b = panel + i * kPackedColumns + column * 2;
        sum = std::fma(from_bf16(a[1]), from_bf16(b[1]), sum);
        sum = std::fma(from_bf16(a[0]), from_bf16(b[0]), sum);
      }
      c_MN[row * c_stride + column] = sum;
    }
  }
}

}  // namespace reference

}  // namespace seekrl::kernels
