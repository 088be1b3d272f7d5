// The bound that some models set on logits.
#pragma once

#include <ATen/core/Tensor.h>

namespace seekrl::ops {

// Replaces x by cap tanh(x / cap), cap > 0; without autograd.
void softcap_(const at::Tensor& x, double cap);

}  // namespace seekrl::ops
