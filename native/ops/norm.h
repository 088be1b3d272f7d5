// The length of a vector.
#pragma once

#include <ATen/core/Tensor.h>

namespace seekrl::ops {

// sqrt(sum of x^2) of a contiguous f32 tensor, summed in f64 without a copy in f64; the same for any number of threads.
double norm(const at::Tensor& x);

}  // namespace seekrl::ops
