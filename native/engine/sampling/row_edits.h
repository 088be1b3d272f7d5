// What changes single logits of a row before it is drawn from: mask, bias, bad words, penalties.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/sampling/sampler.h"
#include "kernels/cuda/sampling/sampler.h"

namespace seekrl::engine {

// All of them but the mask as a GPU is told of them: at most one a token, in ascending order.
std::vector<cuda::LogitEdit> edits_of(const SampleRequest& request);

// Whether edit_logits would change anything.
bool has_edits(const SampleRequest& request);

// Applies them in the order of SamplingOptions; what is forbidden becomes -infinity. O(V / 32 + tokens before).
void edit_logits(float* logits_V, int64_t vocab_size, const SampleRequest& request);

}  // namespace seekrl::engine
