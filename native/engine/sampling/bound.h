// The one number that top-k, top-p and min-p come down to: the least weight that may be drawn.
#pragma once

#include <cstdint>

#include "engine/sampling/options.h"

namespace seekrl::engine {

// weights_V: not negative, at least one of them positive. Tokens of equal weight are kept or left together, so more
// than top_k may be kept:
// - top-k: the k-th largest weight;
// - top-p: the largest weight such that it and all above make up the share top_p of what top-k keeps;
// - min-p: the share min_p of the largest weight.
// 0 when nothing limits. The largest weight is always kept.
float least_kept(const float* weights_V, int64_t size, const SamplingOptions& options);

}  // namespace seekrl::engine
