// Rotary frequencies, stretched as the model's configuration says.
#pragma once

#include <cstdint>
#include <vector>

#include "model/config.h"

namespace seekrl::model {

// f32 [F], F half the channels that turn: radians per position. Unscaled, frequency f is theta^(-f / F). Scaled, as
// transformers 5.18 has it (modeling_rope_utils.py):
// linear: divided by factor. dynamic: theta grows to theta (factor most / original - (factor - 1))^(F / (F - 1)).
// llama3: long waves divided by factor, short ones kept, those between blended linearly in 1 / wavelength.
// yarn (arXiv 2309.00071): the same, blended linearly in f between beta_fast and beta_slow turns over the original
// context. longrope: divided by each one's divisor.
std::vector<float> rope_frequencies(const RopeConfig& rope, int64_t head_dim);

}  // namespace seekrl::model
