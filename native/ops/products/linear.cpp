// The linear op: our kernels on the CPU and on a GPU, where a row's bits must not depend on its batch; ATen's
// elsewhere.
#include "ops/products/linear.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/linear.h>
#include <torch/csrc/autograd/custom_function.h>

#include <optional>

#include "base/error.h"
#include "ops/gpu/gpu.h"
#include "ops/gpu/products/product.h"
#include "ops/gradient.h"
#include "ops/kernel_path.h"
#include "ops/parallel.h"
#include "ops/products/bf16_matmul.h"
#include "ops/products/matmul.h"
#include "ops/products/quant_linear.h"

namespace seekrl::ops {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

void check_linear(const at::Tensor& x_MK, const at::Tensor& weight_NK, const at::Tensor& bias_N) {
  require(x_MK.dim() == 2 && weight_NK.dim() == 2 && x_MK.size(1) == weight_NK.size(1) &&
              (!bias_N.defined() || (bias_N.dim() == 1 && bias_N.size(0) == weight_NK.size(0))),
          ErrorCode::kShape, "linear: expected x [M, K], weight [N, K], bias [N], got ", x_MK.sizes(), ", ",
          weight_NK.sizes());
  require(x_MK.scalar_type() == weight_NK.scalar_type() || is_cpu_bf16(x_MK, weight_NK), ErrorCode::kDtype,
          "linear: x is ", x_MK.scalar_type(), ", weight is ", weight_NK.scalar_type());
}

at::Tensor forward_cpu(const at::Tensor& x_MK, const at::Tensor& weight_NK, const at::Tensor& bias_N) {
  const at::Tensor x = x_MK.contiguous(), weight = weight_NK.contiguous();
  const int64_t m = x.size(0), n = weight.size(0), k = x.size(1);
  at::Tensor y_MN = at::empty({m, n}, x.options());
  const bool has_bias = bias_N.defined();
  const at::Tensor bias = has_bias ? bias_N.contiguous() : at::Tensor();
  parallel_matmul(y_MN.mutable_data_ptr<float>(), n, {x.const_data_ptr<float>(), k, 1},
                  {weight.const_data_ptr<float>(), 1, k}, m, n, k,
                  has_bias ? kernels::Start::kBias : kernels::Start::kZero,
                  has_bias ? bias.const_data_ptr<float>() : nullptr);
  return y_MN;
}

at::Tensor bias_gradient(const at::Tensor& bias_N, const at::Tensor& y_grad_MN) {
  const at::Tensor target = gradient_target(bias_N);
  target.add_(y_grad_MN.sum(0));
  return gradient_result(bias_N, target);
}

// What backward reads of x: nothing when the weight is frozen.
at::Tensor kept_for(const at::Tensor& weight_NK, const at::Tensor& x) {
  return weight_NK.requires_grad() ? x : at::Tensor();
}

class LinearFunction : public torch::autograd::Function<LinearFunction> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x_MK, const at::Tensor& weight_NK,
                            const std::optional<at::Tensor>& bias_N) {
    const at::Tensor bias = bias_N.value_or(at::Tensor());
    context->save_for_backward({kept_for(weight_NK, x_MK), weight_NK, bias});
    return forward_cpu(x_MK, weight_NK, bias);
  }

  static variable_list backward(AutogradContext* context, variable_list grads) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor weight = saved[1].contiguous(), y_grad = grads[0].contiguous();
    const int64_t m = y_grad.size(0), n = weight.size(0), k = weight.size(1);
    const float* y_grad_data = y_grad.const_data_ptr<float>();
    at::Tensor x_grad, weight_grad;
    if (context->needs_input_grad(0)) {
      x_grad = at::empty({m, k}, y_grad.options());
      parallel_matmul(x_grad.mutable_data_ptr<float>(), k, {y_grad_data, n, 1}, {weight.const_data_ptr<float>(), k, 1},
                      m, k, n, kernels::Start::kZero, nullptr);
    }
    if (context->needs_input_grad(1)) {
      const at::Tensor x = saved[0].contiguous();
      weight_grad = gradient_target(weight);
      parallel_matmul(weight_grad.mutable_data_ptr<float>(), k, {y_grad_data, 1, n}, {x.const_data_ptr<float>(), k, 1},
                      n, k, m, kernels::Start::kSelf, nullptr);
      weight_grad = gradient_result(weight, weight_grad);
    }
    const bool wants_bias = saved[2].defined() && context->needs_input_grad(2);
    return {x_grad, weight_grad, wants_bias ? bias_gradient(saved[2], y_grad) : at::Tensor()};
  }
};

class BiasFunction : public torch::autograd::Function<BiasFunction> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x_MN, const at::Tensor& bias_N) {
    context->save_for_backward({bias_N});
    return x_MN + bias_N;
  }
  static variable_list backward(AutogradContext* context, variable_list grads) {
    const at::Tensor bias_N = context->get_saved_variables()[0];
    return {grads[0], context->needs_input_grad(1) ? bias_gradient(bias_N, grads[0]) : at::Tensor()};
  }
};

at::Tensor forward_bf16(const Bf16Rows& x, const at::Tensor& weight_NK, const at::Tensor& bias_N) {
  const int64_t n = weight_NK.size(0);
  at::Tensor y_MN = at::empty({x.m, n}, weight_NK.options().dtype(at::kFloat));
  const at::Tensor bias = bias_N.defined() ? bias_N.to(at::kFloat).contiguous() : at::Tensor();
  bf16_linear(y_MN.mutable_data_ptr<float>(), n, x, bits_of(weight_NK), n,
              bias.defined() ? bias.const_data_ptr<float>() : nullptr, Activation::kNone, atens_helpers());
  return y_MN;
}

// Keeps the rounded x, half the size of x itself.
class Bf16LinearFunction : public torch::autograd::Function<Bf16LinearFunction> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x_MK, const at::Tensor& weight_NK,
                            const std::optional<at::Tensor>& bias_N) {
    const at::Tensor rounded = rounded_rows(x_MK), bias = bias_N.value_or(at::Tensor());
    context->save_for_backward({kept_for(weight_NK, rounded), weight_NK, bias});
    return forward_bf16(bf16_rows(rounded, x_MK.size(1)), weight_NK, bias);
  }

  static variable_list backward(AutogradContext* context, variable_list grads) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor &weight = saved[1], &bias = saved[2], y_grad = grads[0].contiguous();
    const int64_t m = y_grad.size(0), n = weight.size(0), k = weight.size(1);
    const Bf16Rows y_rows = round_rows(y_grad.const_data_ptr<float>(), n, m, n, atens_helpers());
    at::Tensor x_grad, weight_grad;
    if (context->needs_input_grad(0)) {
      x_grad = at::empty({m, k}, y_grad.options());
      bf16_input_grad(x_grad.mutable_data_ptr<float>(), y_rows, bits_of(weight), k, atens_helpers());
    }
    if (context->needs_input_grad(1)) {
      weight_grad = gradient_target(weight);
      bf16_weight_grad(weight_grad.mutable_data_ptr<float>(), y_rows, bf16_rows(saved[0], k), atens_helpers());
      weight_grad = gradient_result(weight, weight_grad);
    }
    const bool wants_bias = bias.defined() && context->needs_input_grad(2);
    return {x_grad, weight_grad, wants_bias ? bias_gradient(bias, y_grad) : at::Tensor()};
  }
};

// What a GPU's products do not take, such as a critic's one output, by libtorch in f32.
at::Tensor wide_linear(const at::Tensor& x_MK, const at::Tensor& weight_NK, const at::Tensor& bias_N) {
  const at::Tensor bias = bias_N.defined() ? bias_N.to(at::kFloat) : at::Tensor();
  return at::linear(x_MK.to(at::kFloat), weight_NK.to(at::kFloat), bias);
}

}  // namespace

at::Tensor linear(const at::Tensor& x_MK, const at::Tensor& weight_NK, const at::Tensor& bias_N) {
  check_linear(x_MK, weight_NK, bias_N);
  if (uses_gpu_kernels(weight_NK)) {
    const bool has_eights = weight_NK.size(0) % 8 == 0 && weight_NK.size(1) % 8 == 0;
    return has_eights ? gpu_linear(x_MK, weight_NK, bias_N, weight_NK.scalar_type())
                      : wide_linear(x_MK, weight_NK, bias_N);
  }
  if (is_cpu_f32(x_MK, weight_NK, bias_N)) {
    if (!needs_grad(x_MK, weight_NK, bias_N)) return forward_cpu(x_MK, weight_NK, bias_N);
    const auto bias = bias_N.defined() ? std::optional<at::Tensor>(bias_N) : std::nullopt;
    return LinearFunction::apply(x_MK, weight_NK, bias);
  }
  if (is_cpu_bf16(x_MK, weight_NK)) {
    const at::Tensor weight = weight_NK.contiguous();
    if (needs_grad(x_MK, weight, bias_N)) {
      const auto bias = bias_N.defined() ? std::optional<at::Tensor>(bias_N) : std::nullopt;
      return Bf16LinearFunction::apply(x_MK, weight, bias);
    }
    const at::Tensor x = x_MK.contiguous();
    const int64_t m = x.size(0), k = x.size(1);
    return forward_bf16(round_rows(x.const_data_ptr<float>(), k, m, k, atens_helpers()), weight, bias_N);
  }
  if (!bias_N.defined()) return at::linear(x_MK, weight_NK);
  return at::linear(x_MK, weight_NK, bias_N);
}

at::Tensor linear(const at::Tensor& x_MK, const Weight& weight, const at::Tensor& bias_N) {
  return weight.is_quant() ? quant_linear(x_MK, weight.quant, bias_N, x_MK.scalar_type())
                           : linear(x_MK, weight.plain_NK, bias_N);
}

at::Tensor partial_linear(const at::Tensor& x_MK, const Weight& weight) {
  if (weight.is_quant()) return quant_linear(x_MK, weight.quant, {}, at::kFloat);
  const at::Tensor& weight_NK = weight.plain_NK;
  check_linear(x_MK, weight_NK, {});
  return uses_gpu_kernels(weight_NK) ? gpu_linear(x_MK, weight_NK, {}, at::kFloat)
                                     : linear(x_MK, weight_NK, at::Tensor());
}

at::Tensor add_bias(const at::Tensor& x_MN, const at::Tensor& bias_N) {
  return needs_grad(x_MN, bias_N) ? BiasFunction::apply(x_MN, bias_N) : x_MN + bias_N;
}

}  // namespace seekrl::ops
