// One linear map of the decoder: its weight and bias, in the form in which they are kept.
#pragma once

#include <ATen/core/Tensor.h>

#include "ops/products/linear.h"

namespace seekrl::model {

struct Projection {
  ops::Weight weight_NK;
  at::Tensor bias_N;  // undefined without one

  // x_MK -> [M, N], as ops::linear.
  at::Tensor apply(const at::Tensor& x_MK) const { return ops::linear(x_MK, weight_NK, bias_N); }
};

}  // namespace seekrl::model
