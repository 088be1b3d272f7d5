// Frequencies are computed in double and rounded once to f32.
#include "model/rope_frequencies.h"

#include <cmath>
#include <numbers>

namespace seekrl::model {

namespace {

// Llama 3.1: long waves are slowed by the factor, short ones kept, those between blended linearly in 1 / wavelength.
double llama3_stretched(double frequency, const DecoderConfig& config) {
  const double original = static_cast<double>(config.rope_original_max_position);
  const double turns = original * frequency / (2 * std::numbers::pi);  // of this wave over the original context
  if (turns < config.rope_low_freq_factor) return frequency / config.rope_factor;
  if (turns > config.rope_high_freq_factor) return frequency;
  const double kept =
      (turns - config.rope_low_freq_factor) / (config.rope_high_freq_factor - config.rope_low_freq_factor);
  return (1 - kept) * frequency / config.rope_factor + kept * frequency;
}

double stretched(double frequency, const DecoderConfig& config) {
  switch (config.rope_scaling) {
    case RopeScaling::kNone: return frequency;
    case RopeScaling::kLinear: return frequency / config.rope_factor;
    case RopeScaling::kLlama3: return llama3_stretched(frequency, config);
  }
  return frequency;
}

}  // namespace

std::vector<float> rope_frequencies(const DecoderConfig& config) {
  std::vector<float> frequencies(config.head_dim / 2);
  for (size_t f = 0; f < frequencies.size(); ++f) {
    const double exponent = -2.0 * static_cast<double>(f) / static_cast<double>(config.head_dim);
    frequencies[f] = static_cast<float>(stretched(std::pow(config.rope_theta, exponent), config));
  }
  return frequencies;
}

}  // namespace seekrl::model
