// Rotation: our kernel for f32 on the CPU, a composition of ATen ops in f32 elsewhere.
#include "ops/rope.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty_like.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>

#include "base/error.h"
#include "kernels/rows.h"
#include "ops/kernel_path.h"
#include "ops/parallel.h"

namespace seekrl::ops {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

at::Tensor rotate_cpu(const at::Tensor& x_THC, const at::Tensor& cos_TF, const at::Tensor& sin_TF, float sign) {
  constexpr int64_t kBlockTokens = 64;
  const int64_t t = x_THC.size(0), h = x_THC.size(1), c = x_THC.size(2), f = cos_TF.size(1);
  at::Tensor y_THC = at::empty_like(x_THC);
  float* y = y_THC.mutable_data_ptr<float>();
  const float *x = x_THC.const_data_ptr<float>(), *cos = cos_TF.const_data_ptr<float>(),
              *sin = sin_TF.const_data_ptr<float>();
  claim_items((t + kBlockTokens - 1) / kBlockTokens, x_THC.numel() * 4, [&](int64_t block) {
    const int64_t first = block * kBlockTokens, count = std::min(kBlockTokens, t - first);
    kernels::rope(y + first * h * c, x + first * h * c, cos + first * f, sin + first * f, count, h, c, f, sign);
  });
  return y_THC;
}

class RopeFunction : public torch::autograd::Function<RopeFunction> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x_THC, const at::Tensor& cos_TF,
                            const at::Tensor& sin_TF) {
    context->save_for_backward({cos_TF, sin_TF});
    return rotate_cpu(x_THC, cos_TF, sin_TF, 1.0f);
  }

  static variable_list backward(AutogradContext* context, variable_list grads) {
    const variable_list saved = context->get_saved_variables();
    return {rotate_cpu(grads[0].contiguous(), saved[0], saved[1], -1.0f), at::Tensor(), at::Tensor()};
  }
};

at::Tensor composition(const at::Tensor& x_THC, const at::Tensor& cos_TF, const at::Tensor& sin_TF) {
  const int64_t half = cos_TF.size(1);
  const at::Tensor cos = cos_TF.unsqueeze(1), sin = sin_TF.unsqueeze(1);
  const at::Tensor low = x_THC.narrow(2, 0, half), high = x_THC.narrow(2, half, half),
                   rest = x_THC.narrow(2, 2 * half, x_THC.size(2) - 2 * half);
  return at::cat({low * cos - high * sin, high * cos + low * sin, rest}, 2).to(x_THC.scalar_type());
}

}  // namespace

at::Tensor rope(const at::Tensor& x_THC, const at::Tensor& cos_TF, const at::Tensor& sin_TF) {
  require(x_THC.dim() == 3 && cos_TF.dim() == 2 && cos_TF.size(0) == x_THC.size(0) &&
              2 * cos_TF.size(1) <= x_THC.size(2) && sin_TF.sizes() == cos_TF.sizes(),
          ErrorCode::kShape, "rope: expected x [T, H, C], cos and sin [T, F], F up to C / 2, got ", x_THC.sizes(), ", ",
          cos_TF.sizes(), ", ", sin_TF.sizes());
  if (!is_cpu_f32(x_THC, cos_TF, sin_TF)) return composition(x_THC, cos_TF, sin_TF);
  const at::Tensor x = x_THC.contiguous(), cos = cos_TF.contiguous(), sin = sin_TF.contiguous();
  return needs_grad(x) ? RopeFunction::apply(x, cos, sin) : rotate_cpu(x, cos, sin, 1.0f);
}

}  // namespace seekrl::ops
