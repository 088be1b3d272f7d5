// How probable a model finds a text.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "model/policy.h"

namespace seekrl::model {

// Natural log of the probability of each id given those before it, f32 [T - 1]: the first id has none. No gradient.
at::Tensor score_logprobs(const Policy& policy, const std::vector<int64_t>& ids);

}  // namespace seekrl::model
