// Results and gradients of an op against ATen's autograd over the same op in double.
#pragma once

#include <ATen/Context.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/randn.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <functional>
#include <vector>

#include "check.h"

namespace seekrl::test {

using at::Tensor;
using Tensors = std::vector<Tensor>;
using Op = std::function<Tensor(const Tensors&)>;

inline Tensor random(at::IntArrayRef shape) { return at::randn(shape, at::kFloat); }

// Results and gradients of sum(out * weights), weights fixed and of both signs.
inline Tensors run(const Op& op, const Tensors& inputs, at::ScalarType dtype) {
  Tensors leaves;
  for (const Tensor& input : inputs) leaves.push_back(input.to(dtype).detach().clone().requires_grad_());
  const Tensor out = op(leaves);
  const Tensor weights = at::arange(out.numel(), at::kDouble).cos().to(dtype).view(out.sizes());
  Tensors results = torch::autograd::grad({(out * weights).sum()}, leaves);
  results.push_back(out.detach());
  return results;
}

// The tolerance is relative to each tensor's largest element, or to one where all are small: a few roundings of sums of
// at most some hundred terms.
inline void check_against_double(const Op& op, const Tensors& inputs, double tolerance = 1e-5) {
  at::manual_seed(5);
  const Tensors got = run(op, inputs, at::kFloat), expected = run(op, inputs, at::kDouble);
  for (size_t i = 0; i < got.size(); ++i) {
    const double largest = std::max(1.0, expected[i].abs().max().item<double>());
    const double gap = (got[i].to(at::kDouble) - expected[i]).abs().max().item<double>();
    EXPECT_NEAR(gap / largest, 0.0, tolerance);
  }
}

}  // namespace seekrl::test
