// What the kernels of AdamW are told of parameters.
#pragma once

#include <cstdint>

#include "kernels/adamw.h"
#include "ops/adamw.h"

namespace seekrl::ops {

// Scales of a parameter's moments of 8 bits.
inline int64_t num_blocks(int64_t size) { return (size + kernels::kMomentBlock - 1) / kernels::kMomentBlock; }

kernels::AdamWStep step_of(const AdamWRates& rates, double weight_decay);

// Elements [first, first + count) of a parameter, or of a piece of one.
kernels::AdamWSlice slice_of(const TrainedParameter& parameter, int64_t first, int64_t count);

}  // namespace seekrl::ops
