// The memory behind a parameter, which may come and go while the tensor stays.
#pragma once

#include <ATen/core/Tensor.h>

namespace seekrl::model {

// Behind autograd's back: for its version counters nothing has changed. All who have the parameter, tied heads and
// views of it too, see what they are given.

// Of the shape and options, without memory.
at::Tensor without_memory(at::IntArrayRef shape, const at::TensorOptions& options);

inline bool has_memory(const at::Tensor& value) { return value.storage().nbytes() > 0; }

// The value's numbers are from here on those of `flat`, which holds as many.
void set_memory(const at::Tensor& value, const at::Tensor& flat);
void free_memory(const at::Tensor& value);

}  // namespace seekrl::model
