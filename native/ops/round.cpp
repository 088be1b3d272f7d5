// The straight-through estimator (Bengio et al. 2013, arXiv 1308.3432): rounding counts as the identity.
#include "ops/round.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include "ops/kernel_path.h"

namespace seekrl::ops {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

at::Tensor rounded(const at::Tensor& x) { return x.to(at::kBFloat16).to(at::kFloat); }

class RoundFunction : public torch::autograd::Function<RoundFunction> {
 public:
  static at::Tensor forward(AutogradContext* /*context*/, const at::Tensor& x) { return rounded(x); }
  static variable_list backward(AutogradContext* /*context*/, variable_list grads) { return grads; }
};

}  // namespace

at::Tensor round_values(const at::Tensor& x) { return needs_grad(x) ? RoundFunction::apply(x) : rounded(x); }

}  // namespace seekrl::ops
