// Whether numbers are finite, and stay so in another dtype.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace seekrl::model {

// The first of these contiguous numbers (f32, f16, bf16; on the CPU) that is not finite, or becomes infinite when it is
// rounded to `target`; -1 where there is none. One pass over the bits, at the speed of memory.
int64_t first_not_finite(const at::Tensor& numbers, at::ScalarType target);

}  // namespace seekrl::model
