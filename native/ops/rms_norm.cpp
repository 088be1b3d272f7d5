// The norm: our kernels on the CPU and on a GPU, a composition of ATen ops elsewhere.
#include "ops/rms_norm.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/promote_types.h>
#include <ATen/ops/rsqrt.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>

#include "base/error.h"
#include "kernels/rows.h"
#include "ops/elementwise/add.h"
#include "ops/gpu/gpu.h"
#include "ops/gpu/layer.h"
#include "ops/gradient.h"
#include "ops/kernel_path.h"
#include "ops/parallel.h"

namespace seekrl::ops {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr int64_t kNormRows = 128;

// Calls body(first row, number of rows, block) for blocks of rows.
template <class Body>
void for_row_blocks(int64_t num_rows, int64_t width, const Body& body) {
  const int64_t num_blocks = (num_rows + kNormRows - 1) / kNormRows;
  claim_items(num_blocks, num_rows * width * 4, [&](int64_t block) {
    const int64_t first = block * kNormRows;
    body(first, std::min(kNormRows, num_rows - first), block);
  });
}

struct Normed {
  at::Tensor y, scale_M;
};

at::Tensor wide_weight(const at::Tensor& weight_D, double offset) {
  const at::Tensor wide_D = weight_D.to(at::kFloat);
  return offset == 0 ? wide_D : wide_D + offset;
}

Normed forward_cpu(const at::Tensor& x, const at::Tensor& weight_D, double eps, double offset) {
  const int64_t d = weight_D.size(0), m = x.numel() / d;
  Normed normed = {at::empty_like(x), at::empty({m}, x.options())};
  float *y = normed.y.mutable_data_ptr<float>(), *scale = normed.scale_M.mutable_data_ptr<float>();
  const at::Tensor wide_D = wide_weight(weight_D, offset);
  const float *from = x.const_data_ptr<float>(), *weight = wide_D.const_data_ptr<float>();
  for_row_blocks(m, d, [&](int64_t first, int64_t count, int64_t) {
    kernels::rms_norm(y + first * d, scale + first, from + first * d, weight, count, d, static_cast<float>(eps));
  });
  return normed;
}

class RmsNormFunction : public torch::autograd::Function<RmsNormFunction> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& weight_D, double eps,
                            double offset) {
    const Normed normed = forward_cpu(x, weight_D, eps, offset);
    context->saved_data["offset"] = offset;
    context->save_for_backward({x, weight_D, normed.scale_M});
    return normed.y;
  }

  static variable_list backward(AutogradContext* context, variable_list grads) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor &x = saved[0], &weight_D = saved[1], &scale_M = saved[2];
    const at::Tensor y_grad = grads[0].contiguous(),
                     wide_D = wide_weight(weight_D, context->saved_data["offset"].toDouble());
    const int64_t d = weight_D.size(0), m = x.numel() / d;
    at::Tensor x_grad = at::empty_like(x);
    // Each block has its own sum, so that the total does not depend on the threads.
    at::Tensor weight_grads_BD = at::zeros({(m + kNormRows - 1) / kNormRows, d}, x.options());
    float *to = x_grad.mutable_data_ptr<float>(), *weight_to = weight_grads_BD.mutable_data_ptr<float>();
    for_row_blocks(m, d, [&](int64_t first, int64_t count, int64_t block) {
      kernels::rms_norm_backward(to + first * d, weight_to + block * d, y_grad.const_data_ptr<float>() + first * d,
                                 x.const_data_ptr<float>() + first * d, scale_M.const_data_ptr<float>() + first,
                                 wide_D.const_data_ptr<float>(), count, d);
    });
    if (!context->needs_input_grad(1)) return {x_grad, at::Tensor(), at::Tensor(), at::Tensor()};
    const at::Tensor target = gradient_target(weight_D);
    target.add_(weight_grads_BD.sum(0));
    return {x_grad, gradient_result(weight_D, target), at::Tensor(), at::Tensor()};
  }
};

at::Tensor composition(const at::Tensor& x, const at::Tensor& weight_D, double eps, double offset) {
  const at::Tensor wide = x.to(at::promote_types(x.scalar_type(), at::kFloat));
  const at::Tensor scale = at::rsqrt(wide.pow(2).mean(-1, true) + eps);
  if (offset != 0) return (wide * scale * (weight_D.to(wide.scalar_type()) + offset)).to(x.scalar_type());
  return (wide * scale).to(x.scalar_type()) * weight_D;
}

}  // namespace

at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& weight_D, double eps, double offset) {
  require(weight_D.dim() == 1 && x.dim() > 0 && x.size(-1) == weight_D.size(0), ErrorCode::kShape,
          "rms_norm: expected x [..., D] and weight [D], got ", x.sizes(), " and ", weight_D.sizes());
  if (uses_gpu_kernels(weight_D)) return gpu_norm(x, weight_D, eps, offset);
  if (!is_cpu_f32(x, weight_D) && !is_cpu_bf16(x, weight_D)) return composition(x, weight_D, eps, offset);
  const at::Tensor dense = x.contiguous();
  if (!needs_grad(x, weight_D)) return forward_cpu(dense, weight_D, eps, offset).y;
  return RmsNormFunction::apply(dense, weight_D, eps, offset);
}

AddNormed add_norm(const at::Tensor& x, const at::Tensor& added, const at::Tensor& weight_D, double eps,
                   double offset) {
  if (uses_gpu_kernels(weight_D)) {
    const auto [sum, normed] = gpu_add_norm(x, added, weight_D, eps, offset);
    return {sum, normed};
  }
  const at::Tensor sum = add(x, added);
  return {sum, rms_norm(sum, weight_D, eps, offset)};
}

}  // namespace seekrl::ops
