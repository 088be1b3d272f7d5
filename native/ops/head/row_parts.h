// The statistics of a row of logits from those of its parts.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>

#include "kernels/logprob.h"

namespace seekrl::ops {

// Of the whole row, in double and in the order of the parts. NaN where a part's are.
kernels::RowStats combined_stats(std::span<const kernels::RowStats> parts);

// all_NR4: max, log_sum, entropy, and the scaled logit of the row's id, which is minus infinity in all parts but one.
// Returns [R, 4]: max, log_sum, entropy and log-probability of the whole rows.
at::Tensor combined_stats(const at::Tensor& all_NR4);

// row_stats of parts of `part` logits each, the last one maybe shorter, combined.
kernels::RowStats stats_by_parts(const float* logits_V, int64_t vocab_size, int64_t part, float inverse_temperature);

}  // namespace seekrl::ops
