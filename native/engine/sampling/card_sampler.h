// Chooses the next token of each row on a card: the token of sampler.h for the same logits.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "engine/sampling/sampler.h"
#include "kernels/cuda/sampling/sampler.h"

namespace seekrl::engine {

// As the kernel has them, without mask and edits.
cuda::SampleRow sample_row(const SamplingOptions& options, uint64_t seed, bool wants_entropy);

// logits_RV: f32 on a card. 12 bytes a row come back.
std::vector<Sample> sample_on_card(const at::Tensor& logits_RV, const std::vector<SampleRequest>& requests,
                                   double softcap);

}  // namespace seekrl::engine
