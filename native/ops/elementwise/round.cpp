// The straight-through estimator (Bengio et al. 2013, arXiv 1308.3432): rounding counts as the identity.
#include "ops/elementwise/round.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty_like.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>

#include "kernels/products/bf16.h"
#include "ops/kernel_path.h"
#include "ops/parallel.h"

namespace seekrl::ops {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

at::Tensor rounded(const at::Tensor& x) {
  constexpr int64_t kBlock = 16384;
  at::Tensor y = at::empty_like(x);
  float* to = y.mutable_data_ptr<float>();
  const float* from = x.const_data_ptr<float>();
  const int64_t size = x.numel();
  claim_items((size + kBlock - 1) / kBlock, size * 4, [&](int64_t block) {
    const int64_t end = std::min(size, (block + 1) * kBlock);
    for (int64_t i = block * kBlock; i < end; ++i) to[i] = kernels::from_bf16(kernels::to_bf16(from[i]));
  });
  return y;
}

class RoundFunction : public torch::autograd::Function<RoundFunction> {
 public:
  static at::Tensor forward(AutogradContext* /*context*/, const at::Tensor& x) { return rounded(x); }
  static variable_list backward(AutogradContext* /*context*/, variable_list grads) { return grads; }
};

}  // namespace

at::Tensor round_values(const at::Tensor& x) {
  const at::Tensor dense = x.contiguous();
  return needs_grad(dense) ? RoundFunction::apply(dense) : rounded(dense);
}

}  // namespace seekrl::ops
