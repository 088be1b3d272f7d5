// Selection by digits (MSD radix) over the bits of the weights, which are ordered as the weights are: nothing is
// sorted.
#include "engine/sampling/bound.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <numeric>

#include "kernels/sampling.h"
#include "ops/scratch.h"

namespace seekrl::engine {

namespace {

constexpr float kNoBound = std::numeric_limits<float>::infinity();
// Digits of 13, 10 and 9 bits. The weights are from 0 to less than 2: the first digit is less than 2048.
constexpr int kHighShift = 19, kMiddleShift = 9;
constexpr size_t kNumDigits = 2048;

uint32_t bits_of(float weight) { return std::bit_cast<uint32_t>(weight); }

// What the weights at or above a bound are measured by.
double count_of(float /*weight*/) { return 1; }
double mass_of(float weight) { return weight; }

using Histogram = std::array<double, kNumDigits>;

// Two histograms in turns: equal digits often follow one another, and an addition waits for the one before it.
template <double (*kMeasure)(float)>
void fill(Histogram& histogram, const float* weights, int64_t size, int shift, uint32_t first) {
  Histogram odd{};
  histogram.fill(0);
  int64_t i = 0;
  for (; i + 2 <= size; i += 2) {
    histogram[(bits_of(weights[i]) - first) >> shift] += kMeasure(weights[i]);
    odd[(bits_of(weights[i + 1]) - first) >> shift] += kMeasure(weights[i + 1]);
  }
  if (i < size) histogram[(bits_of(weights[i]) - first) >> shift] += kMeasure(weights[i]);
  for (size_t digit = 0; digit < histogram.size(); ++digit) histogram[digit] += odd[digit];
}

// The highest digit at which the sum from above reaches `need`, which is lowered by what lies above it; when rounding
// leaves the sum short, the lowest digit there is.
uint32_t crossing(const Histogram& histogram, double& need) {
  uint32_t last = 0;
  for (uint32_t digit = kNumDigits; digit-- > 0;) {
    if (histogram[digit] <= 0) continue;
    last = digit;
    if (histogram[digit] >= need) return digit;
    need -= histogram[digit];
  }
  return last;
}

// The largest weight such that it and all above measure `need`: digit by digit, each among the weights that have the
// digits before it. Writes to `kept`, which may be `weights`.
template <double (*kMeasure)(float)>
float select(float* kept, const float* weights, int64_t size, double need) {
  Histogram histogram;
  uint32_t found = 0;
  for (const int shift : {kHighShift, kMiddleShift, 0}) {
    fill<kMeasure>(histogram, weights, size, shift, found);
    found += crossing(histogram, need) << shift;
    if (shift == 0) break;
    const float low = std::bit_cast<float>(found), high = std::bit_cast<float>(found + (1u << shift));
    size = kernels::keep_between(kept, weights, size, low, high);
    weights = kept;
  }
  return std::bit_cast<float>(found);
}

double sum(const float* weights, int64_t size) {
  const int64_t num_blocks = (size + kernels::kWeightBlock - 1) / kernels::kWeightBlock;
  float* sums = ops::scratch<float, ops::Scratch::kSums>(num_blocks);
  kernels::kept_sums(sums, weights, size, 0);
  return std::accumulate(sums, sums + num_blocks, 0.0);
}

}  // namespace

float least_kept(const float* weights_V, int64_t size, const SamplingOptions& options) {
  const bool has_top_k = options.top_k > 0 && options.top_k < size;
  if (!has_top_k && options.top_p >= 1 && options.min_p <= 0) return 0;
  float* kept = ops::scratch<float, ops::Scratch::kKept>(size + 16);
  float bound = 0;
  if (options.min_p > 0) {
    // The largest is 1 but for the rounding of logit / temperature.
    const int64_t num_large = kernels::keep_between(kept, weights_V, size, 0.5f, kNoBound);
    bound = static_cast<float>(options.min_p * *std::max_element(kept, kept + num_large));
  }
  if (has_top_k) {
    const float last = select<count_of>(kept, weights_V, size, static_cast<double>(options.top_k));
    bound = std::max(bound, last);
    size = kernels::keep_between(kept, weights_V, size, last, kNoBound);
    weights_V = kept;
  }
  if (options.top_p < 1) {
    const double total = sum(weights_V, size);
    // All below this together weigh less than what top-p leaves out.
    const auto tail = static_cast<float>((1 - options.top_p) * total / static_cast<double>(size));
    size = kernels::keep_between(kept, weights_V, size, std::min(tail, 0.5f), kNoBound);
    weights_V = kept;
    bound = std::max(bound, select<mass_of>(kept, weights_V, size, options.top_p * total));
  }
  return bound;
}

}  // namespace seekrl::engine
