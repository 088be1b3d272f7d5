// The sum of a residual stream and what a block gives to it.
#pragma once

#include <ATen/core/Tensor.h>

namespace seekrl::ops {

// x + y of equal shapes; differentiable.
at::Tensor add(const at::Tensor& x, const at::Tensor& y);

}  // namespace seekrl::ops
