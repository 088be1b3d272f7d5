// One linear map of the decoder: its weight and bias, in the form in which they are kept.
#pragma once

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>

#include <cstdint>

#include "model/adapters/adapter_rows.h"
#include "model/parallel/tensor_parallel.h"
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

  // The same where ranks have columns of the weight: what they give is summed in f32, and the bias added once.
  at::Tensor apply_summed(const at::Tensor& x_MK, const AdapterRows& adapters, const TensorParallel& parallel) const {
    if (!parallel.is_split()) return apply(x_MK, adapters);
    const at::Tensor sum_MN = parallel.summed(adapters.add_to(ops::partial_linear(x_MK, weight_NK), x_MK, place));
    return (bias_N.defined() ? ops::add_bias(sum_MN, bias_N) : sum_MN).to(x_MK.scalar_type());
  }
};

}  // namespace seekrl::model
