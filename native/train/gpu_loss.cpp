// The kernels make the rows' gradients with the loss; the backward pass hands them on.
#include "train/gpu_loss.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty_like.h>
#include <torch/csrc/autograd/custom_function.h>

#include <optional>

#include "kernels/cuda/train/policy_rows.h"
#include "ops/gpu/gpu.h"

namespace seekrl::train {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// f32 on a GPU, contiguous; null where the batch has none.
const float* rows_of(const at::Tensor& x_R) { return x_R.defined() ? x_R.const_data_ptr<float>() : nullptr; }

// The loss of all micro-batches so far, whose gradients by one or two inputs of this one are known.
class KnownGradients : public torch::autograd::Function<KnownGradients> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& /*first_R*/,
                            const std::optional<at::Tensor>& /*second_R*/, const at::Tensor& first_grad_R,
                            const std::optional<at::Tensor>& second_grad_R, const at::Tensor& sums) {
    context->save_for_backward({first_grad_R, second_grad_R.value_or(at::Tensor())});
    return sums.select(0, 0).to(at::kFloat);
  }
  static variable_list backward(AutogradContext* context, variable_list grads) {
    const variable_list saved = context->get_saved_variables();
    return {saved[0] * grads[0], saved[1].defined() ? saved[1] * grads[0] : at::Tensor(), at::Tensor(), at::Tensor(),
            at::Tensor()};
  }
};

}  // namespace

at::Tensor gpu_policy_loss(const at::Tensor& logprob_R, const at::Tensor& entropy_R, const Batch& batch,
                           const LossOptions& options, LossSums& sums) {
  const at::Tensor logprob = logprob_R.detach().contiguous(), entropy = entropy_R.detach().contiguous();
  const at::Tensor logprob_grad = at::empty_like(logprob), entropy_grad = at::empty_like(entropy);
  const bool is_likelihood = options.objective == Objective::kLikelihood;
  const cuda::PolicyRows rows = {
      .logprob_grad_R = logprob_grad.mutable_data_ptr<float>(),
      .entropy_grad_R = entropy_grad.mutable_data_ptr<float>(),
      .stats = &sums.at(logprob.device()),
      .logprob_R = rows_of(logprob),
      .entropy_R = rows_of(entropy),
      .weights_R = rows_of(batch.weights_R),
      .advantages_R = is_likelihood ? nullptr : rows_of(batch.advantages_R),
      .old_logprob_R = rows_of(batch.old_logprob_R),
      .reference_logprob_R = options.kl == KlEstimator::kNone ? nullptr : rows_of(batch.reference_logprob_R),
      .rollout_logprob_R = rows_of(batch.rollout_logprob_R),
      .sequences_R =
          options.objective == Objective::kClippedSequence ? batch.sequences_R.const_data_ptr<int64_t>() : nullptr,
      .num_rows = logprob.size(0)};
  const cuda::PolicyOptions settings = {.objective = options.objective,
                                        .clip_low = static_cast<float>(options.clip_low),
                                        .clip_high = static_cast<float>(options.clip_high),
                                        .clip_dual = static_cast<float>(options.clip_dual),
                                        .correction = options.correction,
                                        .correction_low = static_cast<float>(options.correction_low),
                                        .correction_high = static_cast<float>(options.correction_high),
                                        .entropy_coef = static_cast<float>(options.entropy_coef),
                                        .kl = options.kl,
                                        .kl_coef = static_cast<float>(options.kl_coef)};
  ops::require_launched(ops::gpu().policy_rows(rows, settings, ops::stream_of(logprob)));
  return KnownGradients::apply(logprob_R, entropy_R, logprob_grad, entropy_grad, sums.on(logprob.device()));
}

at::Tensor gpu_value_loss(const at::Tensor& values_R, const Batch& batch, double clip, ValueSums& sums) {
  const at::Tensor values = values_R.detach().contiguous(), values_grad = at::empty_like(values);
  const cuda::ValueRows rows = {.values_grad_R = values_grad.mutable_data_ptr<float>(),
                                .stats = &sums.at(values.device()),
                                .values_R = rows_of(values),
                                .weights_R = rows_of(batch.weights_R),
                                .returns_R = rows_of(batch.returns_R),
                                .old_values_R = clip > 0.0 ? rows_of(batch.old_values_R) : nullptr,
                                .num_rows = values.size(0)};
  ops::require_launched(ops::gpu().value_rows(rows, static_cast<float>(clip), ops::stream_of(values)));
  return KnownGradients::apply(values_R, std::nullopt, values_grad, std::nullopt, sums.on(values.device()));
}

}  // namespace seekrl::train
