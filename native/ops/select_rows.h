// Rows of a tensor in an order of one's own, whose gradients are summed in one order on every device.
#pragma once

#include <ATen/core/Tensor.h>

namespace seekrl::ops {

// x [T, ...], rows_R (i64), each as often as wanted -> [R, ...]; differentiable in x: a row's gradients are summed in
// the order of R, on a GPU in f32 without atomics.
at::Tensor select_rows(const at::Tensor& x, const at::Tensor& rows_R);

// x [T, ...], order_T (i64), each row once -> [T, ...]; differentiable in x.
at::Tensor permute_rows(const at::Tensor& x, const at::Tensor& order_T);

}  // namespace seekrl::ops
