// A sum is attached when the weight has an f32 gradient already.
#include "ops/gradient.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/zeros.h>

namespace seekrl::ops {

namespace {

bool is_attached(const at::Tensor& weight) {
  return weight.grad().defined() && weight.grad().scalar_type() == at::kFloat && weight.grad().is_contiguous();
}

}  // namespace

at::Tensor gradient_target(const at::Tensor& weight) {
  return is_attached(weight) ? weight.grad() : at::zeros(weight.sizes(), weight.options().dtype(at::kFloat));
}

at::Tensor gradient_result(const at::Tensor& weight, const at::Tensor& target) {
  return is_attached(weight) ? at::Tensor() : target;
}

}  // namespace seekrl::ops
