// Seven launches a block, however many experts there are.
#include "ops/gpu/experts.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/zeros_like.h>
#include <torch/csrc/autograd/custom_function.h>

#include "kernels/cuda/experts/experts.h"
#include "ops/gpu/gpu.h"
#include "ops/gpu/layer.h"
#include "ops/kernel_path.h"

namespace seekrl::ops {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

GpuChoice choose(const at::Tensor& logits_TE, int64_t num_chosen, bool is_normalised) {
  const int64_t num_tokens = logits_TE.size(0);
  const GpuChoice choice = {at::empty({num_tokens, num_chosen}, logits_TE.options().dtype(at::kFloat)),
                            at::empty({num_tokens, num_chosen}, logits_TE.options().dtype(at::kInt))};
  const cuda::ExpertChoice call = {.weights_TA = choice.weights_TA.mutable_data_ptr<float>(),
                                   .chosen_TA = choice.chosen_TA.mutable_data_ptr<int32_t>(),
                                   .logits_TE = logits_TE.const_data_ptr(),
                                   .num_tokens = num_tokens,
                                   .num_experts = logits_TE.size(1),
                                   .num_chosen = num_chosen,
                                   .is_normalised = is_normalised,
                                   .dtype = gpu_dtype(logits_TE)};
  require_launched(gpu().choose_experts(call, stream_of(logits_TE)));
  return choice;
}

class ChoiceFunction : public torch::autograd::Function<ChoiceFunction> {
 public:
  static variable_list forward(AutogradContext* context, const at::Tensor& logits_TE, int64_t num_chosen,
                               bool is_normalised) {
    const auto [weights_TA, chosen_TA] = choose(logits_TE, num_chosen, is_normalised);
    context->save_for_backward({logits_TE, weights_TA, chosen_TA});
    context->saved_data["is_normalised"] = is_normalised;
    context->mark_non_differentiable({chosen_TA});
    return {weights_TA, chosen_TA};
  }

  // With p the odds and s the sum of the chosen ones: w = p / s gives p_grad = (w_grad - sum of w_grad w) / s.
  static variable_list backward(AutogradContext* context, variable_list grads) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor odds_TE = at::softmax(saved[0].to(at::kFloat), 1), chosen_TA = saved[2].to(at::kLong);
    at::Tensor grad_TA = grads[0];
    if (context->saved_data["is_normalised"].toBool()) {
      const at::Tensor sum_T1 = odds_TE.gather(1, chosen_TA).sum(1, true);
      grad_TA = (grad_TA - (grad_TA * saved[1]).sum(1, true)) / sum_T1;
    }
    const at::Tensor odds_grad_TE = at::zeros_like(odds_TE).scatter(1, chosen_TA, grad_TA);
    const at::Tensor logits_grad_TE = odds_TE * (odds_grad_TE - (odds_grad_TE * odds_TE).sum(1, true));
    return {logits_grad_TE.to(saved[0].scalar_type()), at::Tensor(), at::Tensor()};
  }
};

// Calls sorted by their experts.
struct Calls {
  at::Tensor start_E, order_R, places_R;
};
Calls sorted(const at::Tensor& chosen_TA, int64_t num_experts) {
  const int64_t num_calls = chosen_TA.numel();
  const Calls calls = {at::empty({num_experts + 1}, chosen_TA.options()), at::empty({num_calls}, chosen_TA.options()),
                       at::empty({num_calls}, chosen_TA.options())};
  const cuda::ExpertCalls call = {.start_E = calls.start_E.mutable_data_ptr<int32_t>(),
                                  .order_R = calls.order_R.mutable_data_ptr<int32_t>(),
                                  .places_R = calls.places_R.mutable_data_ptr<int32_t>(),
                                  .chosen_R = chosen_TA.const_data_ptr<int32_t>(),
                                  .num_calls = num_calls,
                                  .num_experts = num_experts};
  require_launched(gpu().sort_calls(call, stream_of(chosen_TA)));
  return calls;
}

at::Tensor multiply(const at::Tensor& x_RK, const at::Tensor& weights_E, int64_t n, const Calls& calls) {
  at::Tensor out_RN = at::empty({x_RK.size(0), n}, x_RK.options());
  const cuda::ExpertProduct call = {.out_RN = out_RN.mutable_data_ptr(),
                                    .x_RK = x_RK.const_data_ptr(),
                                    .weights_E = static_cast<const void* const*>(weights_E.const_data_ptr()),
                                    .start_E = calls.start_E.const_data_ptr<int32_t>(),
                                    .num_calls = x_RK.size(0),
                                    .n = n,
                                    .k = x_RK.size(1),
                                    .num_experts = weights_E.size(0),
                                    .dtype = gpu_dtype(x_RK)};
  require_launched(gpu().expert_product(call, stream_of(x_RK)));
  return out_RN;
}

}  // namespace

GpuChoice gpu_choose_experts(const at::Tensor& logits_TE, int64_t num_chosen, bool is_normalised) {
  const at::Tensor logits = logits_TE.contiguous();
  if (!needs_grad(logits)) return choose(logits, num_chosen, is_normalised);
  const variable_list results = ChoiceFunction::apply(logits, num_chosen, is_normalised);
  return {results[0], results[1]};
}

at::Tensor gpu_experts(const at::Tensor& x_TD, const GpuChoice& choice, const GpuExperts& experts, cuda::Gate gate) {
  const at::Tensor x = x_TD.contiguous();
  const int64_t width = x.size(1), num_chosen = choice.chosen_TA.size(1);
  const Calls calls = sorted(choice.chosen_TA, experts.addresses_3E.size(1));
  const at::Tensor rows_RD = at::empty({choice.chosen_TA.numel(), width}, x.options());
  require_launched(gpu().gather_calls({.rows_RD = rows_RD.mutable_data_ptr(),
                                       .x_TD = x.const_data_ptr(),
                                       .order_R = calls.order_R.const_data_ptr<int32_t>(),
                                       .num_calls = rows_RD.size(0),
                                       .num_chosen = num_chosen,
                                       .width = width},
                                      stream_of(x)));
  const at::Tensor opened = multiply(rows_RD, experts.gate_E(), experts.inner, calls);
  const at::Tensor raised = multiply(rows_RD, experts.up_E(), experts.inner, calls);
  const at::Tensor results_RD = multiply(gpu_gate_mul(opened, raised, gate), experts.down_E(), width, calls);
  at::Tensor sum_TD = at::empty(x.sizes(), x.options());
  require_launched(gpu().add_experts({.out_TD = sum_TD.mutable_data_ptr(),
                                      .rows_RD = results_RD.const_data_ptr(),
                                      .weights_TA = choice.weights_TA.const_data_ptr<float>(),
                                      .places_R = calls.places_R.const_data_ptr<int32_t>(),
                                      .num_tokens = x.size(0),
                                      .num_chosen = num_chosen,
                                      .width = width,
                                      .dtype = gpu_dtype(x)},
                                     stream_of(x)));
  return sum_TD;
}

}  // namespace seekrl::ops
