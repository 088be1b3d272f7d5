// The policy's and the critic's loss over the rows of a micro-batch: gradients per row, and sums that stay on the GPU.
#pragma once

#include <cstdint>

#include "kernels/cuda/status.h"
#include "kernels/policy_rows.h"

namespace seekrl::cuda {

using kernels::Correction;
using kernels::KlEstimator;
using kernels::LossStats;
using kernels::Objective;
using kernels::ValueStats;

struct PolicyOptions {
  Objective objective;
  float clip_low, clip_high;  // the ratio is clipped to [1 - clip_low, 1 + clip_high]
  float clip_dual;            // what a row with a negative advantage loses at most, times its size; 0: no bound
  Correction correction;
  float correction_low, correction_high;
  float entropy_coef;
  KlEstimator kl;
  float kl_coef;
};

// Pointers to f32 [R] on the GPU, but where said.
struct PolicyRows {
  float* logprob_grad_R;
  float* entropy_grad_R;
  LossStats* stats;  // one, on the GPU; added to
  const float* logprob_R;
  const float* entropy_R;
  const float* weights_R;
  const float* advantages_R;         // null where the objective is the likelihood
  const float* old_logprob_R;        // null: the current ones
  const float* reference_logprob_R;  // null without a KL estimator
  const float* rollout_logprob_R;    // null: no gap is measured, and nothing corrected
  // The sequence of each row, ascending, as train/batch.h has it; for kClippedSequence, else null.
  const int64_t* sequences_R;
  int64_t num_rows;
};

// loss = sum_r weight_r (correction_r objective_r + kl_coef kl_r - entropy_coef entropy_r) and its gradients. With
// kClippedSequence the log ratio of a row is the mean of those of its sequence in this micro-batch. Log ratios count as
// no further from 0 than 20. One block: moves at most 44 bytes a row, sums in f64 in the order of rows within threads,
// then of threads; a warp has a sequence where sequences have ratios.
Status policy_rows(const PolicyRows& rows, const PolicyOptions& options, void* stream);

struct ValueRows {
  float* values_grad_R;
  ValueStats* stats;  // one, on the GPU; added to
  const float* values_R;
  const float* weights_R;
  const float* returns_R;
  const float* old_values_R;  // null without a clip
  int64_t num_rows;
};

// loss = sum_r weight_r 0.5 max((v - return)^2, (clip(v, old +- clip) - return)^2) and its gradient; clip <= 0 turns
// clipping off. One block, as above.
Status value_rows(const ValueRows& rows, float clip, void* stream);

}  // namespace seekrl::cuda
