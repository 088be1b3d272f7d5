// Values as bf16 keeps them.
#pragma once

#include <ATen/core/Tensor.h>

namespace seekrl::ops {

// x, f32, with each value rounded to the nearest bf16; still f32. Backward passes the gradient on as it is.
at::Tensor round_values(const at::Tensor& x);

}  // namespace seekrl::ops
