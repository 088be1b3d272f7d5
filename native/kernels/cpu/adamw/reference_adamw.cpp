// AdamW element by element.
#include <algorithm>
#include <bit>
#include <cmath>

#include "base/random.h"
#include "kernels/adamw.h"
#include "kernels/dynamic_map.h"

namespace seekrl::kernels::reference {

namespace {

// The index of the magnitude nearest to x of [0, 1], the less of two as near; the last for what is no number.
int nearest(const DynamicMap& map, float x) {
  const uint32_t key = std::clamp(std::bit_cast<uint32_t>(x) >> 16, DynamicMap::kFirstKey, DynamicMap::kLastKey);
  const int low = map.lowest[key - DynamicMap::kFirstKey];
  return low + (x > map.middles[low] ? 1 : 0);
}

uint8_t first_code(float x) {
  const int index = nearest(signed_map(), std::fabs(x));
  if (!(x < 0) || index == 0) return static_cast<uint8_t>(index);
  return static_cast<uint8_t>(kNegative + std::min(index, kNegative - 1));
}

uint8_t root_code(float x) {
  const int index = nearest(unsigned_map(), x);
  return static_cast<uint8_t>(index == 0 && x > 0 ? 1 : index);
}

// Where one is no number, that: as bits, it is the largest.
float largest_size(const float* x, int64_t count) {
  uint32_t largest = 0;
  for (int64_t i = 0; i < count; ++i) largest = std::max(largest, std::bit_cast<uint32_t>(x[i]) & 0x7fffffffu);
  return std::bit_cast<float>(largest);
}

uint32_t random_bits(const AdamWSlice& slice, int64_t i) {
  const uint64_t element = static_cast<uint64_t>(slice.offset + i);
  const uint32_t word = philox(slice.seed, slice.stream, element / 8)[element % 8 / 2];
  return element % 2 == 0 ? word & 0xffff : word >> 16;
}

float weight(const AdamWSlice& slice, int64_t i) {
  if (slice.weights != nullptr) return slice.weights[i];
  const uint32_t high = static_cast<uint32_t>(slice.halves[i]) << 16;
  return std::bit_cast<float>(high + static_cast<uint32_t>(slice.low == nullptr ? 0 : slice.low[i]));
}

void set_weight(const AdamWSlice& slice, int64_t i, float value) {
  if (slice.weights != nullptr) {
    slice.weights[i] = value;
    return;
  }
  const auto bits = std::bit_cast<uint32_t>(value);
  const uint32_t added = slice.low == nullptr ? random_bits(slice, i) : 0x8000;
  slice.halves[i] = static_cast<uint16_t>((bits + added) >> 16);
  if (slice.low != nullptr) slice.low[i] = static_cast<int16_t>(bits);
}

struct Moments {
  float first, second;
};

Moments moments(const AdamWSlice& slice, int64_t i) {
  if (slice.first.codes == nullptr) return {slice.first.values[i], slice.second.values[i]};
  const int64_t block = i / kMomentBlock;
  const float root = unsigned_map().decoded[slice.second.codes[i]] * slice.second.scales[block];
  return {signed_map().decoded[slice.first.codes[i]] * slice.first.scales[block], root * root};
}

// Replaces the codes of elements [start, end), one block.
void set_codes(const AdamWSlice& slice, int64_t start, int64_t end, const float* first, const float* roots) {
  const float first_scale = largest_size(first, end - start), root_scale = largest_size(roots, end - start);
  const float first_divisor = first_scale > 0 ? first_scale : 1, root_divisor = root_scale > 0 ? root_scale : 1;
  slice.first.scales[start / kMomentBlock] = first_scale;
  slice.second.scales[start / kMomentBlock] = root_scale;
  for (int64_t i = start; i < end; ++i) {
    slice.first.codes[i] = first_code(first[i - start] / first_divisor);
    slice.second.codes[i] = root_code(roots[i - start] / root_divisor);
  }
}

}  // namespace

void adamw(const AdamWSlice& slice, const AdamWStep& step) {
  float first[kMomentBlock], roots[kMomentBlock];
  for (int64_t i = 0; i < slice.n; ++i) {
    const float gradient = slice.gradients[i] / step.gradient_divisor;
    slice.gradients[i] = 0;
    auto [m, v] = moments(slice, i);
    const float difference = gradient - m;
    m = step.first_weight < 0.5f ? std::fma(step.first_weight, difference, m)
                                 : std::fma(step.first_weight - 1, difference, gradient);
    v = std::fma(step.second_weight * gradient, gradient, v * step.beta2);
    const float root = std::sqrt(v);
    const float kept = weight(slice, i) * step.kept;
    set_weight(slice, i, kept + step.minus_rate * m / (root / step.root_divisor + step.epsilon));
    if (slice.first.codes == nullptr) {
      slice.first.values[i] = m;
      slice.second.values[i] = v;
      continue;
    }
    first[i % kMomentBlock] = m;
    roots[i % kMomentBlock] = root;
    const int64_t start = i / kMomentBlock * kMomentBlock;
    if (i + 1 == std::min(slice.n, start + kMomentBlock)) set_codes(slice, start, i + 1, first, roots);
  }
}

}  // namespace seekrl::kernels::reference
