// Forward is the kernel of mixed batches also where one adapter is trained; its gradients are products.
#include "ops/gpu/products/low_rank.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/custom_function.h>

#include "kernels/cuda/product/low_rank.h"
#include "ops/gpu/gpu.h"
#include "ops/gpu/products/product.h"
#include "ops/gradient.h"

namespace seekrl::ops {

namespace {

using cuda::ProductForm;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// -> scale x A^T of the rows that have an adapter, [M, max_rank].
at::Tensor add_and_keep(const at::Tensor& y_MN, const at::Tensor& x_MK, const GpuLowRank& adapters) {
  at::Tensor inner_MR = at::empty({x_MK.size(0), adapters.max_rank}, x_MK.options());
  const cuda::LowRank call = {.out_MN = y_MN.mutable_data_ptr(),
                              .inner_MR = inner_MR.mutable_data_ptr(),
                              .x_MK = x_MK.const_data_ptr(),
                              .pairs_A = static_cast<const cuda::LowRankPair*>(adapters.pairs_A.const_data_ptr()),
                              .start_G = adapters.start_G.const_data_ptr<int32_t>(),
                              .adapter_G = adapters.adapter_G.const_data_ptr<int32_t>(),
                              .out_stride = y_MN.stride(0),
                              .x_stride = x_MK.stride(0),
                              .m = x_MK.size(0),
                              .n = y_MN.size(1),
                              .k = x_MK.size(1),
                              .num_runs = adapters.adapter_G.size(0),
                              .max_rank = adapters.max_rank,
                              .dtype = gpu_dtype(x_MK),
                              .out_dtype = gpu_dtype(y_MN)};
  require_launched(gpu().add_low_rank(call, stream_of(x_MK)));
  return inner_MR;
}

// Adds left^T right to the sum of the parameter's gradient; both parts may have more ranks than it, along `rank_dim`.
at::Tensor add_gradient(const at::Tensor& parameter, const at::Tensor& left, const at::Tensor& right,
                        int64_t rank_dim) {
  const at::Tensor target = gradient_target(parameter);
  const bool is_whole = target.size(0) == left.size(1) && target.size(1) == right.size(1);
  const at::Tensor sum = is_whole ? target : at::zeros({left.size(1), right.size(1)}, target.options());
  gpu_product(sum, left, right, ProductForm::kWeightGradient, /*adds=*/true);
  if (!is_whole) target.add_(sum.narrow(rank_dim, 0, target.size(rank_dim)));
  return gradient_result(parameter, target);
}

class GpuLowRankFunction : public torch::autograd::Function<GpuLowRankFunction> {
 public:
  static at::Tensor forward(AutogradContext* context, at::Tensor y_MN, const at::Tensor& x_MK,
                            const at::Tensor& down_RK, const at::Tensor& up_NR, const GpuLowRank& adapters,
                            const GpuPair& pair) {
    const at::Tensor inner_MR = add_and_keep(y_MN, x_MK, adapters);
    context->save_for_backward({x_MK, down_RK, up_NR, pair.down_RK, pair.up_NR, inner_MR});
    context->saved_data["scale"] = pair.scale;
    context->mark_dirty({y_MN});
    return y_MN;
  }

  static variable_list backward(AutogradContext* context, variable_list grads) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor &x = saved[0], &down = saved[3], &up = saved[4], &inner_MR = saved[5];
    const at::Tensor y_grad = grads[0].to(x.scalar_type()).contiguous(), inner_grad = at::empty_like(inner_MR);
    gpu_product(inner_grad, y_grad, up, ProductForm::kInputGradient, false, {},
                context->saved_data["scale"].toDouble());
    at::Tensor x_grad, down_grad, up_grad;
    if (context->needs_input_grad(1)) {
      x_grad = at::empty({x.size(0), x.size(1)}, x.options());
      gpu_product(x_grad, inner_grad, down, ProductForm::kInputGradient);
    }
    if (context->needs_input_grad(2)) down_grad = add_gradient(saved[1], inner_grad, x, 0);
    if (context->needs_input_grad(3)) up_grad = add_gradient(saved[2], y_grad, inner_MR, 1);
    return {
        context->needs_input_grad(0) ? grads[0] : at::Tensor(), x_grad, down_grad, up_grad, at::Tensor(), at::Tensor()};
  }
};

}  // namespace

void gpu_add_low_rank(const at::Tensor& y_MN, const at::Tensor& x_MK, const GpuLowRank& adapters) {
  add_and_keep(y_MN, x_MK, adapters);
}

at::Tensor gpu_add_low_rank(at::Tensor y_MN, const at::Tensor& x_MK, const GpuLowRank& adapters, const GpuPair& pair,
                            const at::Tensor& down_RK, const at::Tensor& up_NR) {
  return GpuLowRankFunction::apply(y_MN, x_MK, down_RK, up_NR, adapters, pair);
}

}  // namespace seekrl::ops
