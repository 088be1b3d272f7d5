// One launch each.
#include "ops/gpu/tokens.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <torch/csrc/autograd/custom_function.h>

#include "ops/gpu/gpu.h"
#include "ops/gradient.h"
#include "ops/kernel_path.h"

namespace seekrl::ops {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

at::Tensor rows_of(const at::Tensor& weight_VD, const at::Tensor& ids_T, double scale) {
  at::Tensor out_TD = at::empty({ids_T.numel(), weight_VD.size(1)}, weight_VD.options().dtype(at::kFloat));
  const cuda::Embed call = {.out_TD = out_TD.mutable_data_ptr<float>(),
                            .ids_T = ids_T.const_data_ptr<int32_t>(),
                            .weight_VD = weight_VD.const_data_ptr(),
                            .num_tokens = ids_T.numel(),
                            .width = weight_VD.size(1),
                            .scale = static_cast<float>(scale),
                            .dtype = gpu_dtype(weight_VD)};
  require_launched(gpu().embed(call, stream_of(weight_VD)));
  return out_TD;
}

class GpuEmbeddingFunction : public torch::autograd::Function<GpuEmbeddingFunction> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& weight_VD, const at::Tensor& ids_T,
                            double scale) {
    context->save_for_backward({weight_VD, ids_T});
    context->saved_data["scale"] = scale;
    return rows_of(weight_VD, ids_T, scale);
  }

  static variable_list backward(AutogradContext* context, variable_list grads) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor target = gradient_target(saved[0]);
    gpu_add_rows(target, saved[1], grads[0], context->saved_data["scale"].toDouble());
    return {gradient_result(saved[0], target), at::Tensor(), at::Tensor()};
  }
};

}  // namespace

at::Tensor gpu_embedding(const at::Tensor& weight_VD, const at::Tensor& tokens_T, double scale) {
  const at::Tensor ids_T = tokens_T.to(at::kInt).contiguous();
  return needs_grad(weight_VD) ? GpuEmbeddingFunction::apply(weight_VD, ids_T, scale)
                               : rows_of(weight_VD, ids_T, scale);
}

void gpu_add_rows(const at::Tensor& sums_TD, const at::Tensor& ids_R, const at::Tensor& rows_RD, double scale) {
  const at::Tensor rows = rows_RD.contiguous();
  const cuda::EmbedGradient call = {.weight_grad_VD = sums_TD.mutable_data_ptr<float>(),
                                    .ids_T = ids_R.const_data_ptr<int32_t>(),
                                    .out_grad_TD = rows.const_data_ptr<float>(),
                                    .num_tokens = ids_R.numel(),
                                    .width = sums_TD.size(1),
                                    .scale = static_cast<float>(scale)};
  require_launched(gpu().embed_gradient(call, stream_of(sums_TD)));
}

std::pair<at::Tensor, at::Tensor> gpu_rotary_angles(const at::Tensor& positions_T, const at::Tensor& frequencies_F,
                                                    double scale) {
  const at::Tensor positions = positions_T.to(at::kInt).contiguous();
  const int64_t num_tokens = positions.numel(), num_frequencies = frequencies_F.numel();
  at::Tensor cos_TF = at::empty({num_tokens, num_frequencies}, frequencies_F.options());
  at::Tensor sin_TF = at::empty({num_tokens, num_frequencies}, frequencies_F.options());
  const cuda::RotaryAngles call = {.cos_TF = cos_TF.mutable_data_ptr<float>(),
                                   .sin_TF = sin_TF.mutable_data_ptr<float>(),
                                   .positions_T = positions.const_data_ptr<int32_t>(),
                                   .frequencies_F = frequencies_F.const_data_ptr<float>(),
                                   .num_tokens = num_tokens,
                                   .num_frequencies = num_frequencies,
                                   .scale = scale};
  require_launched(gpu().rotary_angles(call, stream_of(positions)));
  return {cos_TF, sin_TF};
}

}  // namespace seekrl::ops
