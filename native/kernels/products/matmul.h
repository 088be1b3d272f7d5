// The one matrix product of the CPU kernels; f32.
#pragma once

#include <cstdint>

#include "kernels/kernel.h"

namespace seekrl::kernels {

// A matrix whose element (row, column) is data[row * row_stride + column * column_stride].
struct MatrixView {
  const float* data = nullptr;
  int64_t row_stride = 0;
  int64_t column_stride = 0;
};

// The panels of B that are laid out for a product are so wide.
inline constexpr int64_t kPanelColumns = 64;

// What the sum of each element of C starts from.
enum class Start { kZero, kBias, kSelf };

// C_MN = start + A_MK B_KN, C row-major with `c_stride` floats a row; every element is one chain of fused multiply-adds
// over k in order, so it does not depend on M, N, on the tile it is in, nor on the instruction set.
// One stride of B is 1: (K-major rows: B itself; N-major: a transposed weight). bias_N is read for kBias only.
// C must not overlap A or B. One thread; 2 M N K FLOP. `scratch`: kMatmulScratchFloats floats.
namespace reference {
void matmul(float* c_MN, int64_t c_stride, const MatrixView& a_MK, const MatrixView& b_KN, int64_t m, int64_t n,
            int64_t k, Start start, const float* bias_N, float* scratch);
}
SEEKRL_KERNEL(matmul);

inline constexpr int64_t kMatmulScratchFloats = 128 * 64;

}  // namespace seekrl::kernels
