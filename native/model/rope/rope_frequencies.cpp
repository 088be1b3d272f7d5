// Frequencies are computed in double and rounded once to f32.
#include "model/rope/rope_frequencies.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/error.h"

namespace seekrl::model {

namespace {

double llama3(double frequency, const RopeConfig& rope) {
  const double original = static_cast<double>(rope.original_max_position);
  const double turns = original * frequency / (2 * std::numbers::pi);  // of this wave over the original context
  if (turns < rope.low_freq_factor) return frequency / rope.factor;
  if (turns > rope.high_freq_factor) return frequency;
  const double kept = (turns - rope.low_freq_factor) / (rope.high_freq_factor - rope.low_freq_factor);
  return (1 - kept) * frequency / rope.factor + kept * frequency;
}

// The index, between whole ones, of the frequency that turns `turns` times over the original context.
double index_of_turns(double turns, int64_t width, const RopeConfig& rope) {
  const double wavelength = static_cast<double>(rope.original_max_position) / (turns * 2 * std::numbers::pi);
  return static_cast<double>(width) * std::log(wavelength) / (2 * std::log(rope.theta));
}

double yarn(double frequency, int64_t f, int64_t width, const RopeConfig& rope) {
  double low = index_of_turns(rope.beta_fast, width, rope), high = index_of_turns(rope.beta_slow, width, rope);
  if (rope.is_truncated) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, static_cast<double>(width - 1));
  if (low == high) high += 0.001;
  const double stretched = std::clamp((static_cast<double>(f) - low) / (high - low), 0.0, 1.0);
  return frequency / rope.factor * stretched + frequency * (1 - stretched);
}

double dynamic_theta(int64_t width, const RopeConfig& rope) {
  const double most = static_cast<double>(std::max(rope.most_positions, rope.original_max_position));
  const double longer = rope.factor * most / static_cast<double>(rope.original_max_position) - (rope.factor - 1);
  return rope.theta * std::pow(longer, static_cast<double>(width) / static_cast<double>(width - 2));
}

double scaled(double frequency, int64_t f, int64_t width, const RopeConfig& rope) {
  switch (rope.scaling) {
    case RopeScaling::kNone:
    case RopeScaling::kDynamic: return frequency;
    case RopeScaling::kLinear: return frequency / rope.factor;
    case RopeScaling::kLlama3: return llama3(frequency, rope);
    case RopeScaling::kYarn: return yarn(frequency, f, width, rope);
    case RopeScaling::kLongRope: return frequency / rope.divisors[f];
  }
  return frequency;
}

}  // namespace

std::vector<float> rope_frequencies(const RopeConfig& rope, int64_t head_dim) {
  const int64_t width = rope.width == 0 ? head_dim : rope.width;
  require(width > 0 && width <= head_dim && width % 2 == 0, ErrorCode::kArgument,
          "rope: width: expected an even number up to ", head_dim, ", got ", width);
  std::vector<float> frequencies(width / 2);
  require(rope.scaling != RopeScaling::kLongRope || rope.divisors.size() == frequencies.size(), ErrorCode::kArgument,
          "rope: expected ", frequencies.size(), " divisors, got ", rope.divisors.size());
  const double theta = rope.scaling == RopeScaling::kDynamic ? dynamic_theta(width, rope) : rope.theta;
  for (int64_t f = 0; f < width / 2; ++f) {
    const double exponent = -2.0 * static_cast<double>(f) / static_cast<double>(width);
    frequencies[f] = static_cast<float>(scaled(std::pow(theta, exponent), f, width, rope));
  }
  return frequencies;
}

}  // namespace seekrl::model
