// One linear map of the decoder: its weight and bias, in the form in which they are kept.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "model/adapters/adapter_rows.h"
#include "ops/products/linear.h"

namespace seekrl::model {

struct Projection {
  ops::Weight weight_NK;
  at::Tensor bias_N;  // undefined without one
  int64_t place = 0;  // among the decoder's projections

  // x_MK -> [M, N], as ops::linear, and what the rows' adapters add.
  at::Tensor apply(const at::Tensor& x_MK, const AdapterRows& adapters) const {
    return adapters.add_to(ops::linear(x_MK, weight_NK, bias_N), x_MK, place);
  }
};

}  // namespace seekrl::model
