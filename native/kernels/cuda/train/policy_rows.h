// The policy's and the critic's loss over the rows of a micro-batch: gradients per row, and sums that stay on the card.
#pragma once

#include <cstdint>

#include "kernels/cuda/status.h"

namespace seekrl::cuda {

// As in train/loss.h: -logp; PPO's clipped ratio of a token; GSPO's, one ratio a sequence.
enum class Objective : int32_t { kLikelihood, kClipped, kClippedSequence };
// d = reference - logp: k1 = -d, k2 = d^2 / 2, k3 = e^d - d - 1 (at most 10, without a gradient there), abs = |d|.
enum class KlEstimator : int32_t { kNone, kK1, kK2, kK3, kAbs };

struct PolicyOptions {
  Objective objective;
  float clip_low, clip_high;  // the ratio is clipped to [1 - clip_low, 1 + clip_high]
  float clip_dual;            // what a row with a negative advantage loses at most, times its size; 0: no bound
  float entropy_coef;
  KlEstimator kl;
  float kl_coef;
};

// Sums over rows, so that micro-batches add up; unweighted except where said. Kernels add to them; zero them before a
// step.
struct PolicyStats {
  double loss;    // weighted: what was differentiated
  double policy;  // weighted: its objective alone
  double num_rows, entropy;
  double kl;         // to the reference, by the chosen estimator
  double approx_kl;  // old - new
  double num_clipped;
  double gap;  // |engine's log-prob - ours|
  double gap_max;
};

// Pointers to f32 [R] on the card, but where said.
struct PolicyRows {
  float* logprob_grad_R;
  float* entropy_grad_R;
  PolicyStats* stats;  // one, on the card
  const float* logprob_R;
  const float* entropy_R;
  const float* weights_R;
  const float* advantages_R;         // null where the objective is the likelihood
  const float* old_logprob_R;        // null: the current ones
  const float* reference_logprob_R;  // null without a KL estimator
  const float* rollout_logprob_R;    // null: no gap is measured
  // The sequence of each row, ascending, as train/batch.h has it; for kClippedSequence, else null.
  const int64_t* sequences_R;
  int64_t num_rows;
};

// loss = sum_r weight_r (objective_r + kl_coef kl_r - entropy_coef entropy_r) and its gradients. With kClippedSequence
// the log ratio of a row is the mean of those of its sequence in this micro-batch. Log ratios count as no further from
// 0 than 20. One block: moves at most 44 bytes a row, sums in f64 in the order of rows within threads, then of threads;
// a warp has a sequence where sequences have ratios.
Status policy_rows(const PolicyRows& rows, const PolicyOptions& options, void* stream);

struct ValueStats {
  double loss;  // weighted
  double num_rows, num_clipped, values;
};

struct ValueRows {
  float* values_grad_R;
  ValueStats* stats;  // one, on the card; added to
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
