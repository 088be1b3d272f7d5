// y + s (x A^T) B^T: what a low-rank adapter adds to a product.
#pragma once

#include <ATen/core/Tensor.h>

namespace seekrl::ops {

// y_MN, x_MK of one dtype on one device; down_RK and up_NR are f32. Overwrites y and returns it, in y's dtype;
// differentiable in y, x, A and B. All sums are f32, and a row's result depends on that row alone. 2 M R (K + N) FLOP.
at::Tensor add_low_rank(at::Tensor y_MN, const at::Tensor& x_MK, const at::Tensor& down_RK, const at::Tensor& up_NR,
                        double scale);

}  // namespace seekrl::ops
