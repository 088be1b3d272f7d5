// The kernels of kernels/cuda/layer/tokens.h as ops.
#pragma once

#include <ATen/core/Tensor.h>

#include <utility>

namespace seekrl::ops {

// weight_VD of 16 bits, tokens_T (i64 or i32) -> f32 [T, D], times scale; with the weight's gradient.
at::Tensor gpu_embedding(const at::Tensor& weight_VD, const at::Tensor& tokens_T, double scale);

// sums_TD[ids_R[r]] += scale rows_RD[r], f32, those of one row in the order of r; ids i32.
void gpu_add_rows(const at::Tensor& sums_TD, const at::Tensor& ids_R, const at::Tensor& rows_RD, double scale);

// positions_T (i64 or i32), frequencies_F (f32) -> cosines and sines, f32 [T, F], times scale.
std::pair<at::Tensor, at::Tensor> gpu_rotary_angles(const at::Tensor& positions_T, const at::Tensor& frequencies_F,
                                                    double scale);

}  // namespace seekrl::ops
