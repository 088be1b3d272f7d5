// The gate of the feed-forward block.
#pragma once

#include <ATen/core/Tensor.h>

namespace seekrl::ops {

// silu(gate) * up = gate / (1 + exp(-gate)) * up, elementwise over equal shapes; differentiable.
at::Tensor silu_mul(const at::Tensor& gate, const at::Tensor& up);

// The same with gelu in its form with tanh.
at::Tensor gelu_mul(const at::Tensor& gate, const at::Tensor& up);

}  // namespace seekrl::ops
