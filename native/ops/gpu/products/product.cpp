// The three products of a linear map; its weight's gradient goes straight into the trainer's sums.
#include "ops/gpu/products/product.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <torch/csrc/autograd/custom_function.h>

#include <optional>

#include "ops/gpu/gpu.h"
#include "ops/gpu/products/quant.h"
#include "ops/gradient.h"
#include "ops/kernel_path.h"

namespace seekrl::ops {

namespace {

using cuda::ProductForm;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// Rows may be apart, their numbers not.
at::Tensor with_dense_rows(const at::Tensor& x) { return x.stride(1) == 1 ? x : x.contiguous(); }

at::Tensor forward(const at::Tensor& x_MK, const at::Tensor& weight_NK, const at::Tensor& bias_N,
                   at::ScalarType dtype) {
  at::Tensor out_MN = at::empty({x_MK.size(0), weight_NK.size(0)}, weight_NK.options().dtype(dtype));
  gpu_product(out_MN, x_MK, weight_NK, ProductForm::kForward, false, bias_N);
  return out_MN;
}

class GpuLinearFunction : public torch::autograd::Function<GpuLinearFunction> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x_MK, const at::Tensor& weight_NK,
                            const std::optional<at::Tensor>& bias_N, at::ScalarType dtype) {
    const at::Tensor bias = bias_N.value_or(at::Tensor());
    context->save_for_backward({weight_NK.requires_grad() ? x_MK : at::Tensor(), weight_NK, bias});
    return ops::forward(x_MK, weight_NK, bias, dtype);
  }

  static variable_list backward(AutogradContext* context, variable_list grads) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor &x = saved[0], &weight = saved[1], &bias = saved[2];
    const at::Tensor y_grad = grads[0].to(weight.scalar_type()).contiguous();
    at::Tensor x_grad, weight_grad, bias_grad;
    if (context->needs_input_grad(0)) {
      x_grad = at::empty({y_grad.size(0), weight.size(1)}, y_grad.options());
      gpu_product(x_grad, y_grad, weight, ProductForm::kInputGradient);
    }
    if (context->needs_input_grad(1)) {
      const at::Tensor target = gradient_target(weight);
      gpu_product(target, y_grad, x, ProductForm::kWeightGradient, /*adds=*/true);
      weight_grad = gradient_result(weight, target);
    }
    if (bias.defined() && context->needs_input_grad(2)) {
      const at::Tensor target = gradient_target(bias);
      target.add_(y_grad.sum(0, false, at::kFloat));
      bias_grad = gradient_result(bias, target);
    }
    return {x_grad, weight_grad, bias_grad, at::Tensor()};
  }
};

}  // namespace

at::Tensor gpu_logits(const at::Tensor& x_MD, const Weight& weight_VD) {
  at::Tensor logits_MV = at::empty({x_MD.size(0), weight_VD.n()}, x_MD.options().dtype(at::kFloat));
  gpu_logits(logits_MV, x_MD, weight_VD);
  return logits_MV;
}

void gpu_logits(const at::Tensor& logits_MV, const at::Tensor& x_MD, const Weight& weight_VD) {
  const at::Tensor to = logits_MV.narrow(1, 0, weight_VD.n()), x = with_dense_rows(x_MD);
  if (weight_VD.is_quant()) return gpu_quant_product(to, x, weight_VD.quant, {});
  gpu_product(to, x, weight_VD.plain_NK, ProductForm::kForward);
}

void gpu_product(const at::Tensor& out_MN, const at::Tensor& left, const at::Tensor& right, ProductForm form, bool adds,
                 const at::Tensor& bias_N, double scale) {
  const cuda::Product call = {.out_MN = out_MN.mutable_data_ptr(),
                              .left = left.const_data_ptr(),
                              .right = right.const_data_ptr(),
                              .bias_N = data_or_null(bias_N),
                              .out_stride = out_MN.stride(0),
                              .left_stride = left.stride(0),
                              .right_stride = right.stride(0),
                              .m = out_MN.size(0),
                              .n = out_MN.size(1),
                              .k = left.size(form == ProductForm::kWeightGradient ? 0 : 1),
                              .form = form,
                              .dtype = gpu_dtype(left),
                              .out_dtype = gpu_dtype(out_MN),
                              .adds = adds,
                              .scale = static_cast<float>(scale)};
  require_launched(gpu().product(call, stream_of(left)));
}

at::Tensor gpu_linear(const at::Tensor& x_MK, const at::Tensor& weight_NK, const at::Tensor& bias_N,
                      at::ScalarType dtype) {
  const at::Tensor x = with_dense_rows(x_MK), weight = weight_NK.contiguous();
  if (!needs_grad(x, weight, bias_N)) return forward(x, weight, bias_N, dtype);
  const auto bias = bias_N.defined() ? std::optional<at::Tensor>(bias_N) : std::nullopt;
  return GpuLinearFunction::apply(x, weight, bias, dtype);
}

}  // namespace seekrl::ops
