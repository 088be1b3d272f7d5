// Where the gradient of a weight is summed: in the f32 tensor that its trainer attached as its gradient, so that none
// of its own size is made for each product, and that of a bf16 weight is not rounded on its way.
#pragma once

#include <ATen/core/Tensor.h>

namespace seekrl::ops {

// What backward adds the gradient to: the attached sum, or zeros.
at::Tensor gradient_target(const at::Tensor& weight);

// What backward then returns to autograd for the weight: nothing where the target is attached.
at::Tensor gradient_result(const at::Tensor& weight, const at::Tensor& target);

}  // namespace seekrl::ops
