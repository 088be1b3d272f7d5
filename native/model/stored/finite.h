// Whether numbers are finite, and stay so in another dtype.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace seekrl::model {

// The first of these numbers, of dtype `from` (f32, f16, bf16) and aligned, that is not finite or becomes infinite when
// it is rounded to `target`; -1 where there is none. One pass over the bits, at the speed of memory.
int64_t first_not_finite(const void* numbers, int64_t count, at::ScalarType from, at::ScalarType target);

// The same of a contiguous tensor on the CPU.
inline int64_t first_not_finite(const at::Tensor& numbers, at::ScalarType target) {
  return first_not_finite(numbers.const_data_ptr(), numbers.numel(), numbers.scalar_type(), target);
}

}  // namespace seekrl::model
