// The matrix-product kernel on all of ATen's threads.
#pragma once

#include <cstdint>

#include "kernels/products/matmul.h"

namespace seekrl::ops {

// kernels::matmul cut into blocks of rows and panels of columns; which thread takes which does not change a bit.
void parallel_matmul(float* c_MN, int64_t c_stride, const kernels::MatrixView& a_MK, const kernels::MatrixView& b_KN,
                     int64_t m, int64_t n, int64_t k, kernels::Start start, const float* bias_N);

}  // namespace seekrl::ops
