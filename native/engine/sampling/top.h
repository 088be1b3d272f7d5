// The most likely tokens of a row, whatever is drawn from it.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/sampling.h"

namespace seekrl::engine {

// The `count` tokens of the largest logits in descending order, of equal ones the first token first, so that the first
// is what a greedy draw takes; `stats` are the row's. count: at most `vocab_size`.
std::vector<kernels::TopToken> top_tokens(const float* logits_V, int64_t vocab_size, int64_t count,
                                          const kernels::RowStats& stats, float inverse_temperature);

}  // namespace seekrl::engine
