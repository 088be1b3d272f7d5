// The rotary frequencies of a decoder.
#pragma once

#include <vector>

#include "model/config.h"

namespace seekrl::model {

// C / 2 angles per position step: theta^(-2f/C), stretched as the config says.
std::vector<float> rope_frequencies(const DecoderConfig& config);

}  // namespace seekrl::model
