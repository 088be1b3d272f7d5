// Losses on the CPU as a few operations over the rows of a micro-batch; autograd gives their gradients.
#include "train/loss.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/max.h>
#include <ATen/ops/min.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>

#include "base/error.h"
#include "train/gpu_loss.h"

namespace seekrl::train {

namespace {

// exp of more than this says nothing and overflows soon after.
constexpr double kMaxLogRatio = 20.0;
constexpr double kMaxKl = 10.0;

const at::Tensor& need(const at::Tensor& tensor_R, const char* name) {
  require(tensor_R.defined(), ErrorCode::kArgument, name, ": this loss needs it, the batch has none");
  return tensor_R;
}

void check_needs(const Batch& batch, const LossOptions& options) {
  if (options.objective != Objective::kLikelihood) need(batch.advantages_R, "advantages");
  if (options.objective == Objective::kClippedSequence) need(batch.sequences_R, "sequences");
  if (options.kl != KlEstimator::kNone) need(batch.reference_logprob_R, "referenceLogprobs");
  if (options.correction != Correction::kNone) need(batch.rollout_logprob_R, "rolloutLogprobs");
}

double total(const at::Tensor& tensor_R) { return tensor_R.sum(at::kDouble).item<double>(); }

// Each row gets the mean of its sequence.
at::Tensor sequence_mean(const at::Tensor& values_R, const at::Tensor& sequences_R) {
  const int64_t num_rows = values_R.size(0);
  const at::Tensor zeros_R = at::zeros({num_rows}, values_R.options());
  const at::Tensor counts = zeros_R.index_add(0, sequences_R, at::ones_like(values_R));
  const at::Tensor sums = zeros_R.index_add(0, sequences_R, values_R);
  return (sums / counts.clamp_min(1)).index_select(0, sequences_R);
}

at::Tensor old_logprob(const at::Tensor& logprob_R, const Batch& batch) {
  return batch.old_logprob_R.defined() ? batch.old_logprob_R : logprob_R.detach();
}

at::Tensor log_ratio(const at::Tensor& logprob_R, const Batch& batch, Objective objective) {
  const at::Tensor difference_R = logprob_R - old_logprob(logprob_R, batch);
  if (objective != Objective::kClippedSequence) return difference_R;
  return sequence_mean(difference_R, batch.sequences_R);
}

at::Tensor ratio_of(const at::Tensor& log_ratio_R) { return log_ratio_R.clamp(-kMaxLogRatio, kMaxLogRatio).exp(); }

at::Tensor clipped_weight_objective(const at::Tensor& logprob_R, const Batch& batch, const LossOptions& options,
                                    LossStats& stats) {
  const at::Tensor log_ratio_R = log_ratio(logprob_R.detach(), batch, options.objective);
  const at::Tensor ratio_R = ratio_of(log_ratio_R);
  const at::Tensor clipped_R = ratio_R.clamp(1.0 - options.clip_low, 1.0 + options.clip_high);
  stats.num_clipped += total(clipped_R.ne(ratio_R));
  stats.approx_kl -= total(log_ratio_R);
  return -batch.advantages_R * clipped_R * logprob_R;
}

at::Tensor clipped_objective(const at::Tensor& logprob_R, const Batch& batch, const LossOptions& options,
                             LossStats& stats) {
  const at::Tensor& advantages_R = batch.advantages_R;
  const at::Tensor log_ratio_R = log_ratio(logprob_R, batch, options.objective);
  const at::Tensor ratio_R = ratio_of(log_ratio_R);
  const at::Tensor free_R = -advantages_R * ratio_R;
  const at::Tensor clipped_R = -advantages_R * ratio_R.clamp(1.0 - options.clip_low, 1.0 + options.clip_high);
  stats.num_clipped += total(clipped_R.detach().gt(free_R.detach()));
  stats.approx_kl -= total(log_ratio_R.detach());
  const at::Tensor held_R = at::max(free_R, clipped_R);
  if (options.clip_dual <= 0.0) return held_R;
  return at::where(advantages_R.lt(0), at::min(held_R, -options.clip_dual * advantages_R), held_R);
}

at::Tensor corrected(const at::Tensor& objective_R, const at::Tensor& logprob_R, const Batch& batch,
                     const LossOptions& options, LossStats& stats) {
  if (options.correction == Correction::kNone) return objective_R;
  const at::Tensor ratio_R = ratio_of(old_logprob(logprob_R, batch) - batch.rollout_logprob_R);
  const at::Tensor held_R = options.correction == Correction::kTruncate
                                ? ratio_R.clamp_max(options.correction_high)
                                : at::where(ratio_R.ge(options.correction_low) & ratio_R.le(options.correction_high),
                                            ratio_R, at::zeros_like(ratio_R));
  stats.correction_ratio += total(ratio_R);
  stats.num_corrected += total(held_R.ne(ratio_R));
  return objective_R * held_R;
}

// By its log-probabilities, which have gradients.
at::Tensor objective(const at::Tensor& logprob_R, const Batch& batch, const LossOptions& options, LossStats& stats) {
  if (options.objective == Objective::kLikelihood) return -logprob_R;
  if (options.objective == Objective::kClippedWeight) return clipped_weight_objective(logprob_R, batch, options, stats);
  return clipped_objective(logprob_R, batch, options, stats);
}

at::Tensor kl_to_reference(const at::Tensor& logprob_R, const Batch& batch, KlEstimator estimator) {
  const at::Tensor distance_R = batch.reference_logprob_R - logprob_R;
  if (estimator == KlEstimator::kK1) return -distance_R;
  if (estimator == KlEstimator::kK2) return 0.5 * distance_R.square();
  if (estimator == KlEstimator::kAbs) return distance_R.abs();
  const at::Tensor held_R = distance_R.clamp(-kMaxLogRatio, kMaxLogRatio);
  return (held_R.exp() - held_R - 1.0).clamp_max(kMaxKl);
}

void measure_gap(const at::Tensor& logprob_R, const Batch& batch, LossStats& stats) {
  if (!batch.rollout_logprob_R.defined()) return;
  const at::Tensor gap_R = (logprob_R.detach() - batch.rollout_logprob_R).abs();
  stats.gap += total(gap_R);
  stats.gap_max = std::max(stats.gap_max, gap_R.max().item<double>());
}

}  // namespace

at::Tensor policy_loss(const at::Tensor& logprob_R, const at::Tensor& entropy_R, const Batch& batch,
                       const LossOptions& options, LossSums& sums) {
  const at::Tensor& weights_R = need(batch.weights_R, "weights");
  check_needs(batch, options);
  if (!logprob_R.device().is_cpu()) return gpu_policy_loss(logprob_R, entropy_R, batch, options, sums);
  LossStats& stats = sums.at(at::kCPU);
  stats.num_rows += static_cast<double>(logprob_R.size(0));
  const at::Tensor free_R = objective(logprob_R, batch, options, stats);
  at::Tensor per_row_R = corrected(free_R, logprob_R, batch, options, stats);
  stats.policy += total(weights_R * per_row_R.detach());
  if (options.kl != KlEstimator::kNone) {
    const at::Tensor kl_R = kl_to_reference(logprob_R, batch, options.kl);
    stats.kl += total(kl_R.detach());
    per_row_R = per_row_R + options.kl_coef * kl_R;
  }
  stats.entropy += total(entropy_R.detach());
  if (options.entropy_coef != 0.0) per_row_R = per_row_R - options.entropy_coef * entropy_R;
  measure_gap(logprob_R, batch, stats);
  const at::Tensor value = (weights_R * per_row_R).sum();
  stats.loss += value.item<double>();
  return value;
}

at::Tensor value_loss(const at::Tensor& values_R, const Batch& batch, double clip, ValueSums& sums) {
  const at::Tensor& weights_R = need(batch.weights_R, "weights");
  const at::Tensor& returns_R = need(batch.returns_R, "returns");
  if (clip > 0.0) need(batch.old_values_R, "oldValues");
  if (!values_R.device().is_cpu()) return gpu_value_loss(values_R, batch, clip, sums);
  ValueStats& stats = sums.at(at::kCPU);
  stats.num_rows += static_cast<double>(values_R.size(0));
  stats.values += total(values_R.detach());
  at::Tensor error_R = (values_R - returns_R).square();
  if (clip > 0.0) {
    const at::Tensor& old_R = batch.old_values_R;
    const at::Tensor moved_R = values_R - old_R;
    // The value itself where it moved no further: old + moved is it up to a rounding, which is no clipping.
    const at::Tensor held_R = at::where(moved_R.abs().gt(clip), old_R + moved_R.clamp(-clip, clip), values_R);
    const at::Tensor clipped_R = (held_R - returns_R).square();
    stats.num_clipped += total(clipped_R.detach().gt(error_R.detach()));
    error_R = at::max(error_R, clipped_R);
  }
  const at::Tensor value = 0.5 * (weights_R * error_R).sum();
  stats.loss += value.item<double>();
  return value;
}

}  // namespace seekrl::train
