// The losses of loss.h on a GPU: one launch over the rows of a micro-batch.
#pragma once

#include "train/loss.h"

namespace seekrl::train {

// The batch has what the options need.
at::Tensor gpu_policy_loss(const at::Tensor& logprob_R, const at::Tensor& entropy_R, const Batch& batch,
                           const LossOptions& options, LossSums& sums);

at::Tensor gpu_value_loss(const at::Tensor& values_R, const Batch& batch, double clip, ValueSums& sums);

}  // namespace seekrl::train
