// The matrix product with a weight that was laid out for it once, when its model was loaded; f32 and bf16, CPU.
//
// A packed weight is a row of panels of 64 outputs each; the last is filled up with zeros. A panel lies by depth: in
// f32 K rows of 64 floats, in bf16 K / 2 rows of 64 pairs (the values of depth 2 i and 2 i + 1 side by side).
#pragma once

#include <cstdint>

#include "kernels/kernel.h"

namespace seekrl::kernels {

inline constexpr int64_t kPackedColumns = 64;

inline constexpr int64_t num_packed_panels(int64_t n) { return (n + kPackedColumns - 1) / kPackedColumns; }

// bf16 is the upper half of an f32, rounded to the nearest, ties to even; not a number stays so.
uint16_t to_bf16(float x);
float from_bf16(uint16_t x);
// Over n elements.
namespace reference {
void round_to_bf16(uint16_t* y, const float* x, int64_t n);
}
SEEKRL_KERNEL(round_to_bf16);

// packed: num_packed_panels(n) * 64 * k elements; weight_NK as Hugging Face stores it. For bf16 k is even.
void pack_weight(float* packed, const float* weight_NK, int64_t n, int64_t k);
void pack_weight(uint16_t* packed, const uint16_t* weight_NK, int64_t n, int64_t k);

// C = bias + A panel for the first `columns` (at most 64) columns of one panel. Each element is one chain over k in
// order; in f32 of fused multiply-adds, with the bits of kernels::matmul. In bf16 products and sums are f32, added in
// pairs as the processor does it, so that the last bits differ between instruction sets, never between rows or batches.
// bias_N: `columns` floats, may be null. One thread; 2 M 64 K FLOP.
namespace reference {
void packed_matmul(float* c_MN, int64_t c_stride, const float* a_MK, int64_t a_stride, const float* panel, int64_t m,
                   int64_t columns, int64_t k, const float* bias_N);
void packed_matmul_bf16(float* c_MN, int64_t c_stride, const uint16_t* a_MK, int64_t a_stride, const uint16_t* panel,
                        int64_t m, int64_t columns, int64_t k, const float* bias_N);
}  // namespace reference
SEEKRL_KERNEL(packed_matmul);
SEEKRL_KERNEL(packed_matmul_bf16);

}  // namespace seekrl::kernels
