// The matrix product with a weight that was laid out for it once, when its model was loaded; f32, CPU.
//
// A packed weight is a row of panels of 64 outputs each, K rows of 64 floats; the last is filled up with zeros.
#pragma once

#include <cstdint>

#include "kernels/kernel.h"
#include "kernels/products/matmul.h"

namespace seekrl::kernels {

inline constexpr int64_t num_packed_panels(int64_t n) { return (n + kPanelColumns - 1) / kPanelColumns; }

// packed: num_packed_panels(n) * 64 * k floats; weight_NK as Hugging Face stores it.
void pack_weight(float* packed, const float* weight_NK, int64_t n, int64_t k);

// C = bias + A panel for the first `columns` (at most 64) columns of one panel. Each element is one chain of fused
// multiply-adds over k in order: the bits of kernels::matmul. bias_N: `columns` floats, may be null. One thread; 2 M 64
// K FLOP.
namespace reference {
void packed_matmul(float* c_MN, int64_t c_stride, const float* a_MK, int64_t a_stride, const float* panel, int64_t m,
                   int64_t columns, int64_t k, const float* bias_N);
}
SEEKRL_KERNEL(packed_matmul);

}  // namespace seekrl::kernels
