// AdamW by blocks that stay in the first-level cache, with the reference's bits: weights and moments to f32, the update
// sixteen elements at a time, and back.
#pragma once

#include "kernels/adamw.h"
#include "kernels/cpu/lanes.h"
#include "kernels/dynamic_map.h"

namespace seekrl::kernels::SEEKRL_ISA {

inline uint32_t bits_of(float x) {
  uint32_t bits;
  __builtin_memcpy(&bits, &x, sizeof bits);
  return bits;
}

inline float float_of(uint32_t bits) {
  float x;
  __builtin_memcpy(&x, &bits, sizeof x);
  return x;
}

// One block's numbers, where they are not kept as f32.
struct AdamWBlock {
  alignas(64) float weights[kMomentBlock], first[kMomentBlock], second[kMomentBlock], roots[kMomentBlock];
};

inline void load_halves(float* to, const AdamWSlice& slice, int64_t start, int64_t count) {
  const uint16_t* halves = slice.halves + start;
  if (slice.low == nullptr) {
    for (int64_t i = 0; i < count; ++i) to[i] = float_of(static_cast<uint32_t>(halves[i]) << 16);
    return;
  }
  const int16_t* low = slice.low + start;
  for (int64_t i = 0; i < count; ++i) {
    to[i] = float_of((static_cast<uint32_t>(halves[i]) << 16) + static_cast<uint32_t>(low[i]));
  }
}

// 16 bits for each of a block's elements: philox of base/random.h, one group of eight elements a lane.
inline void random_block(uint16_t* to, uint64_t seed, uint64_t stream, uint64_t first_group) {
  constexpr int kGroups = kMomentBlock / 8;
  uint32_t c0[kGroups], c1[kGroups], c2[kGroups], c3[kGroups];
  for (int g = 0; g < kGroups; ++g) {
    const uint64_t index = first_group + static_cast<uint64_t>(g);
    c0[g] = static_cast<uint32_t>(index);
    c1[g] = static_cast<uint32_t>(index >> 32);
    c2[g] = static_cast<uint32_t>(stream);
    c3[g] = static_cast<uint32_t>(stream >> 32);
  }
  auto key0 = static_cast<uint32_t>(seed), key1 = static_cast<uint32_t>(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    for (int g = 0; g < kGroups; ++g) {
      const uint64_t product0 = uint64_t{0xD2511F53} * c0[g], product1 = uint64_t{0xCD9E8D57} * c2[g];
      c0[g] = static_cast<uint32_t>(product1 >> 32) ^ c1[g] ^ key0;
      c2[g] = static_cast<uint32_t>(product0 >> 32) ^ c3[g] ^ key1;
      c1[g] = static_cast<uint32_t>(product1);
      c3[g] = static_cast<uint32_t>(product0);
    }
    key0 += 0x9E3779B9;
    key1 += 0xBB67AE85;
  }
  for (int g = 0; g < kGroups; ++g) {
    const uint32_t words[4] = {c0[g], c1[g], c2[g], c3[g]};
    __builtin_memcpy(to + g * 8, words, sizeof words);
  }
}

inline void store_halves(const AdamWSlice& slice, int64_t start, int64_t count, const float* from) {
  uint16_t* halves = slice.halves + start;
  if (slice.low == nullptr) {
    uint16_t added[kMomentBlock];
    random_block(added, slice.seed, slice.stream, static_cast<uint64_t>(slice.offset + start) / 8);
    for (int64_t i = 0; i < count; ++i) halves[i] = static_cast<uint16_t>((bits_of(from[i]) + added[i]) >> 16);
    return;
  }
  int16_t* low = slice.low + start;
  for (int64_t i = 0; i < count; ++i) {
    const uint32_t bits = bits_of(from[i]);
    halves[i] = static_cast<uint16_t>((bits + 0x8000) >> 16);
    low[i] = static_cast<int16_t>(bits);
  }
}

inline float largest_size(const float* x, int64_t count) {
  uint32_t largest = 0;
  for (int64_t i = 0; i < count; ++i) {
    const uint32_t size = bits_of(x[i]) & 0x7fffffff;
    largest = size > largest ? size : largest;
  }
  return float_of(largest);
}

// Magnitudes of [0, 1] as indices of `map`; the last one for what is no number.
inline int nearest(const DynamicMap& map, float x) {
  const uint32_t key = bits_of(x) >> 16, least = key > DynamicMap::kFirstKey ? key : DynamicMap::kFirstKey;
  const int low = map.lowest[(least < DynamicMap::kLastKey ? least : DynamicMap::kLastKey) - DynamicMap::kFirstKey];
  return low + (x > map.middles[low] ? 1 : 0);
}

inline void store_first_codes(uint8_t* to, float* scale, const float* first, int64_t count) {
  const DynamicMap& map = signed_map();
  *scale = largest_size(first, count);
  const float divisor = *scale > 0 ? *scale : 1;
  for (int64_t i = 0; i < count; ++i) {
    const float x = first[i] / divisor;
    const int index = nearest(map, float_of(bits_of(x) & 0x7fffffff));
    const bool is_negative = x < 0 && index > 0;
    to[i] = static_cast<uint8_t>(is_negative ? kNegative + (index < kNegative ? index : kNegative - 1) : index);
  }
}

inline void store_root_codes(uint8_t* to, float* scale, const float* roots, int64_t count) {
  const DynamicMap& map = unsigned_map();
  *scale = largest_size(roots, count);
  const float divisor = *scale > 0 ? *scale : 1;
  for (int64_t i = 0; i < count; ++i) {
    const int index = nearest(map, roots[i] / divisor);
    to[i] = static_cast<uint8_t>(index == 0 && roots[i] / divisor > 0 ? 1 : index);
  }
}

inline void load_codes(AdamWBlock& block, const AdamWSlice& slice, int64_t start, int64_t count) {
  const uint8_t *first = slice.first.codes + start, *second = slice.second.codes + start;
  const float *first_map = signed_map().decoded, *root_map = unsigned_map().decoded;
  const float first_scale = slice.first.scales[start / kMomentBlock];
  const float root_scale = slice.second.scales[start / kMomentBlock];
  for (int64_t i = 0; i < count; ++i) block.first[i] = first_map[first[i]] * first_scale;
  for (int64_t i = 0; i < count; ++i) {
    const float root = root_map[second[i]] * root_scale;
    block.second[i] = root * root;
  }
}

// The update of `count` elements in f32; roots, of the second moments, may be null.
inline void adamw_f32(float* weights, float* gradients, float* first, float* second, float* roots, int64_t count,
                      const AdamWStep& step) {
  const bool is_light = step.first_weight < 0.5f;
  const Lanes first_weight = broadcast(is_light ? step.first_weight : step.first_weight - 1);
  const Lanes second_weight = broadcast(step.second_weight), beta2 = broadcast(step.beta2);
  const Lanes kept = broadcast(step.kept), minus_rate = broadcast(step.minus_rate);
  const Lanes epsilon = broadcast(step.epsilon), root_divisor = broadcast(step.root_divisor);
  const Lanes gradient_divisor = broadcast(step.gradient_divisor);
  for (int64_t i = 0; i < count; i += kLanes) {
    const int64_t some = count - i < kLanes ? count - i : kLanes;
    const Lanes gradient = load_first(gradients + i, some) / gradient_divisor;
    store_first(gradients + i, zeros(), some);
    const Lanes before = load_first(first + i, some);
    const Lanes m = fma(first_weight, gradient - before, is_light ? before : gradient);
    const Lanes v = fma(second_weight * gradient, gradient, load_first(second + i, some) * beta2);
    const Lanes root = square_root(v);
    const Lanes change = minus_rate * m / (root / root_divisor + epsilon);
    store_first(weights + i, load_first(weights + i, some) * kept + change, some);
    store_first(first + i, m, some);
    store_first(second + i, v, some);
    if (roots != nullptr) store_first(roots + i, root, some);
  }
}

inline void adamw(const AdamWSlice& slice, const AdamWStep& step) {
  AdamWBlock block;
  const bool has_codes = slice.first.codes != nullptr, is_f32 = slice.weights != nullptr;
  for (int64_t start = 0; start < slice.n; start += kMomentBlock) {
    const int64_t count = slice.n - start < kMomentBlock ? slice.n - start : kMomentBlock;
    if (!is_f32) load_halves(block.weights, slice, start, count);
    if (has_codes) load_codes(block, slice, start, count);
    adamw_f32(is_f32 ? slice.weights + start : block.weights, slice.gradients + start,
              has_codes ? block.first : slice.first.values + start,
              has_codes ? block.second : slice.second.values + start, has_codes ? block.roots : nullptr, count, step);
    if (!is_f32) store_halves(slice, start, count, block.weights);
    if (!has_codes) continue;
    const int64_t index = start / kMomentBlock;
    store_first_codes(slice.first.codes + start, slice.first.scales + index, block.first, count);
    store_root_codes(slice.second.codes + start, slice.second.scales + index, block.roots, count);
  }
}

}  // namespace seekrl::kernels::SEEKRL_ISA
