// AdamW on a GPU.
#pragma once

#include <vector>

#include "ops/adamw.h"

namespace seekrl::ops {

// As ops::adamw, of parameters on a GPU.
void gpu_adamw(const std::vector<TrainedParameter>& parameters, const AdamWRates& rates);

}  // namespace seekrl::ops
