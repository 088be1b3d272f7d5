// Our kernels on the CPU, where activations are f32 whatever the weights are; ATen's elsewhere.
#include "ops/products/low_rank.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/linear.h>
#include <torch/csrc/autograd/custom_function.h>

#include "base/error.h"
#include "ops/gradient.h"
#include "ops/kernel_path.h"
#include "ops/products/matmul.h"

namespace seekrl::ops {

namespace {

using kernels::Start;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

void check_low_rank(const at::Tensor& y_MN, const at::Tensor& x_MK, const at::Tensor& down_RK,
                    const at::Tensor& up_NR) {
  require(y_MN.dim() == 2 && x_MK.dim() == 2 && down_RK.dim() == 2 && up_NR.dim() == 2 &&
              y_MN.size(0) == x_MK.size(0) && x_MK.size(1) == down_RK.size(1) && y_MN.size(1) == up_NR.size(0) &&
              down_RK.size(0) == up_NR.size(1),
          ErrorCode::kShape, "low_rank: expected y [M, N], x [M, K], A [R, K], B [N, R], got ", y_MN.sizes(), ", ",
          x_MK.sizes(), ", ", down_RK.sizes(), ", ", up_NR.sizes());
  require(y_MN.scalar_type() == x_MK.scalar_type() && down_RK.scalar_type() == at::kFloat &&
              up_NR.scalar_type() == at::kFloat,
          ErrorCode::kDtype, "low_rank: expected y and x of one dtype, A and B in f32, got ", y_MN.scalar_type(), ", ",
          x_MK.scalar_type(), ", ", down_RK.scalar_type(), ", ", up_NR.scalar_type());
}

const float* data(const at::Tensor& tensor) { return tensor.const_data_ptr<float>(); }

// s x A^T, [M, R].
at::Tensor inner(const at::Tensor& x_MK, const at::Tensor& down_RK, double scale) {
  const int64_t m = x_MK.size(0), r = down_RK.size(0), k = x_MK.size(1);
  at::Tensor inner_MR = at::empty({m, r}, x_MK.options());
  parallel_matmul(inner_MR.mutable_data_ptr<float>(), r, {data(x_MK), k, 1}, {data(down_RK), 1, k}, m, r, k,
                  Start::kZero, nullptr);
  return inner_MR.mul_(scale);
}

// y += inner B^T.
void add_outer(at::Tensor& y_MN, const at::Tensor& inner_MR, const at::Tensor& up_NR) {
  const int64_t m = y_MN.size(0), n = y_MN.size(1), r = inner_MR.size(1);
  parallel_matmul(y_MN.mutable_data_ptr<float>(), n, {data(inner_MR), r, 1}, {data(up_NR), 1, r}, m, n, r, Start::kSelf,
                  nullptr);
}

// up_grad += y_grad^T inner, made as inner^T y_grad: y_grad is read along its rows.
void add_up_grad(const at::Tensor& up_grad_NR, const at::Tensor& y_grad_MN, const at::Tensor& inner_MR) {
  const int64_t m = y_grad_MN.size(0), n = y_grad_MN.size(1), r = inner_MR.size(1);
  const at::Tensor turned_RN = at::empty({r, n}, inner_MR.options());
  parallel_matmul(turned_RN.mutable_data_ptr<float>(), n, {data(inner_MR), 1, r}, {data(y_grad_MN), n, 1}, r, n, m,
                  Start::kZero, nullptr);
  const float* const turned = data(turned_RN);
  float* const to = up_grad_NR.mutable_data_ptr<float>();
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < r; ++j) to[i * r + j] += turned[j * n + i];
  }
}

class LowRankFunction : public torch::autograd::Function<LowRankFunction> {
 public:
  static at::Tensor forward(AutogradContext* context, at::Tensor y_MN, const at::Tensor& x_MK,
                            const at::Tensor& down_RK, const at::Tensor& up_NR, double scale) {
    const at::Tensor inner_MR = inner(x_MK, down_RK, scale);
    add_outer(y_MN, inner_MR, up_NR);
    context->save_for_backward({x_MK, down_RK, up_NR, inner_MR});
    context->saved_data["scale"] = scale;
    context->mark_dirty({y_MN});
    return y_MN;
  }

  static variable_list backward(AutogradContext* context, variable_list grads) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor &x = saved[0], &down = saved[1], &up = saved[2], &inner_MR = saved[3];
    const at::Tensor y_grad = grads[0].contiguous();
    const int64_t m = x.size(0), k = x.size(1), n = up.size(0), r = up.size(1);
    at::Tensor inner_grad = at::empty({m, r}, x.options());
    parallel_matmul(inner_grad.mutable_data_ptr<float>(), r, {data(y_grad), n, 1}, {data(up), r, 1}, m, r, n,
                    Start::kZero, nullptr);
    inner_grad.mul_(context->saved_data["scale"].toDouble());
    at::Tensor x_grad, down_grad, up_grad;
    if (context->needs_input_grad(1)) {
      x_grad = at::empty({m, k}, x.options());
      parallel_matmul(x_grad.mutable_data_ptr<float>(), k, {data(inner_grad), r, 1}, {data(down), k, 1}, m, k, r,
                      Start::kZero, nullptr);
    }
    if (context->needs_input_grad(2)) {
      down_grad = gradient_target(down);
      parallel_matmul(down_grad.mutable_data_ptr<float>(), k, {data(inner_grad), 1, r}, {data(x), k, 1}, r, k, m,
                      Start::kSelf, nullptr);
      down_grad = gradient_result(down, down_grad);
    }
    if (context->needs_input_grad(3)) {
      up_grad = gradient_target(up);
      add_up_grad(up_grad, y_grad, inner_MR);
      up_grad = gradient_result(up, up_grad);
    }
    return {context->needs_input_grad(0) ? y_grad : at::Tensor(), x_grad, down_grad, up_grad, at::Tensor()};
  }
};

}  // namespace

at::Tensor add_low_rank(at::Tensor y_MN, const at::Tensor& x_MK, const at::Tensor& down_RK, const at::Tensor& up_NR,
                        double scale) {
  check_low_rank(y_MN, x_MK, down_RK, up_NR);
  if (!is_cpu_f32(y_MN, x_MK) || !y_MN.is_contiguous()) {
    const at::Tensor added = at::linear(at::linear(x_MK.to(at::kFloat), down_RK), up_NR) * scale;
    return y_MN.add_(added.to(y_MN.scalar_type()));
  }
  const at::Tensor x = x_MK.contiguous();
  if (needs_grad(y_MN, x, down_RK, up_NR)) return LowRankFunction::apply(y_MN, x, down_RK, up_NR, scale);
  add_outer(y_MN, inner(x, down_RK, scale), up_NR);
  return y_MN;
}

}  // namespace seekrl::ops
