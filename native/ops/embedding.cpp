// Backward adds each row's gradient where it belongs, and makes no other of the vocabulary's size.
#include "ops/embedding.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/embedding.h>
#include <torch/csrc/autograd/custom_function.h>

#include "ops/gpu/gpu.h"
#include "ops/gpu/tokens.h"
#include "ops/gradient.h"
#include "ops/kernel_path.h"

namespace seekrl::ops {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

at::Tensor rows_of(const at::Tensor& weight_VD, const at::Tensor& tokens_T) {
  const at::Tensor rows_TD = at::embedding(weight_VD, tokens_T);
  return c10::isReducedFloatingType(rows_TD.scalar_type()) ? rows_TD.to(at::kFloat) : rows_TD;
}

class EmbeddingFunction : public torch::autograd::Function<EmbeddingFunction> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& weight_VD, const at::Tensor& tokens_T) {
    context->save_for_backward({weight_VD, tokens_T});
    return rows_of(weight_VD, tokens_T);
  }

  static variable_list backward(AutogradContext* context, variable_list grads) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor target = gradient_target(saved[0]);
    target.index_add_(0, saved[1], grads[0].to(at::kFloat));
    return {gradient_result(saved[0], target), at::Tensor()};
  }
};

}  // namespace

at::Tensor embedding(const at::Tensor& weight_VD, const at::Tensor& tokens_T, double scale) {
  if (uses_gpu_kernels(weight_VD)) return gpu_embedding(weight_VD, tokens_T, scale);
  const at::Tensor rows_TD =
      needs_grad(weight_VD) ? EmbeddingFunction::apply(weight_VD, tokens_T) : rows_of(weight_VD, tokens_T);
  return scale == 1 ? rows_TD : rows_TD * scale;
}

}  // namespace seekrl::ops
