// libtorch's own gradient of a selection adds with atomics on a GPU: its bits would differ from run to run.
#include "ops/select_rows.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/argsort.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/custom_function.h>

#include <vector>

#include "ops/gpu/tokens.h"
#include "ops/kernel_path.h"

namespace seekrl::ops {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

class SelectFunction : public torch::autograd::Function<SelectFunction> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& rows_R) {
    context->save_for_backward({rows_R});
    context->saved_data["sizes"] = x.sizes().vec();
    return x.index_select(0, rows_R);
  }

  static variable_list backward(AutogradContext* context, variable_list grads) {
    const at::Tensor rows_R = context->get_saved_variables()[0].to(at::kInt), &grad = grads[0];
    const std::vector<int64_t> sizes = context->saved_data["sizes"].toIntVector();
    const at::Tensor grad_RD = grad.reshape({grad.size(0), -1}).to(at::kFloat);
    const at::Tensor sums_TD = at::zeros({sizes[0], grad_RD.size(1)}, grad_RD.options());
    gpu_add_rows(sums_TD, rows_R, grad_RD, 1);
    return {sums_TD.to(grad.scalar_type()).view(sizes), at::Tensor()};
  }
};

class PermuteFunction : public torch::autograd::Function<PermuteFunction> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& order_T) {
    context->save_for_backward({order_T});
    return x.index_select(0, order_T);
  }

  static variable_list backward(AutogradContext* context, variable_list grads) {
    return {grads[0].index_select(0, at::argsort(context->get_saved_variables()[0])), at::Tensor()};
  }
};

}  // namespace

at::Tensor select_rows(const at::Tensor& x, const at::Tensor& rows_R) {
  if (!x.device().is_cpu() && needs_grad(x)) return SelectFunction::apply(x, rows_R);
  return x.index_select(0, rows_R);
}

at::Tensor permute_rows(const at::Tensor& x, const at::Tensor& order_T) {
  return needs_grad(x) ? PermuteFunction::apply(x, order_T) : x.index_select(0, order_T);
}

}  // namespace seekrl::ops
