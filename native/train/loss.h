// The one policy loss (SFT, PPO, GRPO and their relatives are options of it) and the critic's loss.
#pragma once

#include <ATen/core/Tensor.h>

#include "kernels/policy_rows.h"
#include "train/batch.h"
#include "train/stat_sums.h"

namespace seekrl::train {

using kernels::Correction;
using kernels::KlEstimator;
using kernels::LossStats;
using kernels::Objective;
using kernels::ValueStats;

struct LossOptions {
  Objective objective = Objective::kLikelihood;
  double clip_low = 0.2;  // the ratio is clipped to [1 - clip_low, 1 + clip_high]
  double clip_high = 0.2;
  // With a negative advantage a row loses at most this times its size, however large the ratio (dual-clip PPO,
  // arXiv 1912.09729); 0 turns it off.
  double clip_dual = 0.0;
  Correction correction = Correction::kNone;
  double correction_low = 0.0;
  double correction_high = 2.0;
  double entropy_coef = 0.0;
  KlEstimator kl = KlEstimator::kNone;
  double kl_coef = 0.0;
  double temperature = 1.0;  // of the rollout: logits are divided by it
};

// A scalar whose gradients are those of the micro-batch's loss. Its statistics are added to `sums`, of which nothing is
// read.
//
// loss = sum_r weight_r * (correction_r * objective_r + kl_coef * kl_r - entropy_coef * entropy_r). The weights already
// contain the normaliser of the whole step, so the sum over micro-batches does not depend on how they were cut (law 3).
at::Tensor policy_loss(const at::Tensor& logprob_R, const at::Tensor& entropy_R, const Batch& batch,
                       const LossOptions& options, LossSums& sums);

// As above: sum_r weight_r * 0.5 * max((v - ret)^2, (clip(v, old +- clip) - ret)^2); clip <= 0 turns clipping off.
at::Tensor value_loss(const at::Tensor& values_R, const Batch& batch, double clip, ValueSums& sums);

}  // namespace seekrl::train
