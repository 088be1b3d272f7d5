// The kernels of kernels/cuda/layer/ for rows as differentiable ops.
#include "ops/gpu/layer.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/zeros_like.h>
#include <torch/csrc/autograd/custom_function.h>

#include <optional>

#include "ops/gpu/gpu.h"
#include "ops/gradient.h"
#include "ops/kernel_path.h"

namespace seekrl::ops {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

struct GpuNorm {
  at::Tensor sum, normed, scale_T;
};

// One of x and `added` may be undefined.
GpuNorm norm(const at::Tensor& x, const at::Tensor& added, const at::Tensor& weight_D, double eps, double offset) {
  const bool adds = x.defined() && added.defined();
  const at::Tensor& rows = x.defined() ? x : added;
  const int64_t width = weight_D.size(0), num_rows = rows.numel() / width;
  GpuNorm to = {adds ? at::empty_like(x) : x, at::empty(rows.sizes(), weight_D.options()),
                at::empty({num_rows}, weight_D.options().dtype(at::kFloat))};
  const cuda::AddNorm call = {.out_TD = to.normed.mutable_data_ptr(),
                              .sum_TD = adds ? to.sum.mutable_data_ptr<float>() : nullptr,
                              .residual_TD = static_cast<const float*>(data_or_null(x)),
                              .added_TD = data_or_null(added),
                              .weight_D = weight_D.const_data_ptr(),
                              .scale_T = to.scale_T.mutable_data_ptr<float>(),
                              .num_rows = num_rows,
                              .width = width,
                              .epsilon = static_cast<float>(eps),
                              .weight_offset = static_cast<float>(offset),
                              .dtype = gpu_dtype(weight_D)};
  require_launched(gpu().add_norm(call, stream_of(rows)));
  return to;
}

class GpuNormFunction : public torch::autograd::Function<GpuNormFunction> {
 public:
  static variable_list forward(AutogradContext* context, const at::Tensor& x, const std::optional<at::Tensor>& added,
                               const at::Tensor& weight_D, double eps, double offset) {
    const GpuNorm normed = norm(x, added.value_or(at::Tensor()), weight_D, eps, offset);
    context->save_for_backward({normed.sum, weight_D, normed.scale_T});
    context->saved_data["offset"] = offset;
    context->saved_data["adds"] = added.has_value();
    if (!added.has_value()) return {normed.normed};
    return {normed.normed, normed.sum};
  }

  static variable_list backward(AutogradContext* context, variable_list grads) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor &sum = saved[0], &weight_D = saved[1];
    const bool adds = context->saved_data["adds"].toBool();
    at::Tensor grad = adds && grads[1].defined() ? grads[1].clone() : at::zeros_like(sum);
    at::Tensor weight_grad;
    if (grads[0].defined()) {
      const int64_t width = weight_D.size(0);
      const at::Tensor out_grad = grads[0].contiguous();
      at::Tensor target, scratch;
      // An absent `added` is no input.
      if (context->needs_input_grad(adds ? 2 : 1)) {
        target = gradient_target(weight_D);
        scratch = at::empty({gpu().norm_gradient_scratch_floats(width)}, sum.options());
      }
      const cuda::NormGradient call = {.residual_grad_TD = grad.mutable_data_ptr<float>(),
                                       .weight_grad_D = target.defined() ? target.mutable_data_ptr<float>() : nullptr,
                                       .scratch = scratch.defined() ? scratch.mutable_data_ptr<float>() : nullptr,
                                       .out_grad_TD = out_grad.const_data_ptr(),
                                       .residual_TD = sum.const_data_ptr<float>(),
                                       .scale_T = saved[2].const_data_ptr<float>(),
                                       .weight_D = weight_D.const_data_ptr(),
                                       .num_rows = sum.numel() / width,
                                       .width = width,
                                       .weight_offset = static_cast<float>(context->saved_data["offset"].toDouble()),
                                       .dtype = gpu_dtype(weight_D)};
      require_launched(gpu().norm_gradient(call, stream_of(sum)));
      if (target.defined()) weight_grad = gradient_result(weight_D, target);
    }
    return {grad, adds ? grad.to(weight_D.scalar_type()) : at::Tensor(), weight_grad, at::Tensor(), at::Tensor()};
  }
};

at::Tensor gate_forward(const at::Tensor& gate_TI, const at::Tensor& up_TI, cuda::Gate gate) {
  at::Tensor out_TI = at::empty_like(gate_TI);
  const int64_t width = gate_TI.size(-1);
  const cuda::GateMul call = {.out_TI = out_TI.mutable_data_ptr(),
                              .gate_TI = gate_TI.const_data_ptr(),
                              .up_TI = up_TI.const_data_ptr(),
                              .num_rows = gate_TI.numel() / width,
                              .width = width,
                              .stride = width,
                              .gate = gate,
                              .dtype = gpu_dtype(gate_TI)};
  require_launched(gpu().gate_mul(call, stream_of(gate_TI)));
  return out_TI;
}

class GpuGateFunction : public torch::autograd::Function<GpuGateFunction> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& gate_TI, const at::Tensor& up_TI,
                            cuda::Gate gate) {
    context->save_for_backward({gate_TI, up_TI});
    context->saved_data["gate"] = static_cast<int64_t>(gate);
    return gate_forward(gate_TI, up_TI, gate);
  }

  static variable_list backward(AutogradContext* context, variable_list grads) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor &gate_TI = saved[0], &up_TI = saved[1], out_grad_TI = grads[0].contiguous();
    at::Tensor gate_grad_TI = at::empty_like(gate_TI), up_grad_TI = at::empty_like(up_TI);
    const int64_t width = gate_TI.size(-1);
    const cuda::GateMulGradient call = {.gate_grad_TI = gate_grad_TI.mutable_data_ptr(),
                                        .up_grad_TI = up_grad_TI.mutable_data_ptr(),
                                        .out_grad_TI = out_grad_TI.const_data_ptr(),
                                        .gate_TI = gate_TI.const_data_ptr(),
                                        .up_TI = up_TI.const_data_ptr(),
                                        .num_rows = gate_TI.numel() / width,
                                        .width = width,
                                        .stride = width,
                                        .gate = static_cast<cuda::Gate>(context->saved_data["gate"].toInt()),
                                        .dtype = gpu_dtype(gate_TI)};
    require_launched(gpu().gate_mul_gradient(call, stream_of(gate_TI)));
    return {gate_grad_TI, up_grad_TI, at::Tensor()};
  }
};

}  // namespace

GpuNormed gpu_add_norm(const at::Tensor& x, const at::Tensor& added, const at::Tensor& weight_D, double eps,
                       double offset) {
  const at::Tensor dense = x.contiguous(), dense_added = added.defined() ? added.contiguous() : added;
  if (!needs_grad(x, added, weight_D)) {
    const GpuNorm normed = norm(dense, dense_added, weight_D, eps, offset);
    return {normed.sum, normed.normed};
  }
  const auto optional = added.defined() ? std::optional(dense_added) : std::nullopt;
  const variable_list results = GpuNormFunction::apply(dense, optional, weight_D, eps, offset);
  return {added.defined() ? results[1] : dense, results[0]};
}

at::Tensor gpu_norm(const at::Tensor& x, const at::Tensor& weight_D, double eps, double offset) {
  const bool is_wide = x.scalar_type() == at::kFloat || needs_grad(x, weight_D);
  if (is_wide) return gpu_add_norm(x.to(at::kFloat), {}, weight_D, eps, offset).normed;
  return norm({}, x.contiguous(), weight_D, eps, offset).normed;
}

at::Tensor gpu_gate_mul(const at::Tensor& gate_TI, const at::Tensor& up_TI, cuda::Gate gate) {
  const at::Tensor dense_gate = gate_TI.contiguous(), dense_up = up_TI.contiguous();
  if (!needs_grad(gate_TI, up_TI)) return gate_forward(dense_gate, dense_up, gate);
  return GpuGateFunction::apply(dense_gate, dense_up, gate);
}

}  // namespace seekrl::ops
