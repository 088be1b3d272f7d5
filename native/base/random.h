// Counter-based random numbers: a value is a pure function of (seed, stream, index), so draws need no shared state.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <utility>

namespace seekrl {

// Philox4x32-10 (Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3", 2011): the key is the
// seed, the counter is (index, stream), low words first.
inline std::array<uint32_t, 4> philox(uint64_t seed, uint64_t stream, uint64_t index) {
  constexpr uint64_t kMultiplier0 = 0xD2511F53, kMultiplier1 = 0xCD9E8D57;
  constexpr uint32_t kWeyl0 = 0x9E3779B9, kWeyl1 = 0xBB67AE85;
  constexpr int kRounds = 10;
  auto key0 = static_cast<uint32_t>(seed), key1 = static_cast<uint32_t>(seed >> 32);
  std::array<uint32_t, 4> counter{static_cast<uint32_t>(index), static_cast<uint32_t>(index >> 32),
                                  static_cast<uint32_t>(stream), static_cast<uint32_t>(stream >> 32)};
  for (int round = 0; round < kRounds; ++round) {
    const uint64_t product0 = kMultiplier0 * counter[0], product1 = kMultiplier1 * counter[2];
    counter = {static_cast<uint32_t>(product1 >> 32) ^ counter[1] ^ key0, static_cast<uint32_t>(product1),
               static_cast<uint32_t>(product0 >> 32) ^ counter[3] ^ key1, static_cast<uint32_t>(product0)};
    key0 += kWeyl0;
    key1 += kWeyl1;
  }
  return counter;
}

// The 53 high bits of two words as a number in [0, 1).
inline double to_unit(uint32_t high, uint32_t low) {
  const uint64_t bits = (static_cast<uint64_t>(high) << 32 | low) >> 11;
  return static_cast<double>(bits) * 0x1p-53;
}

// Uniform in [0, 1).
inline double uniform(uint64_t seed, uint64_t stream, uint64_t index) {
  const auto words = philox(seed, stream, index);
  return to_unit(words[0], words[1]);
}

// Two independent standard normals (Box and Muller).
inline std::pair<double, double> normal_pair(uint64_t seed, uint64_t stream, uint64_t index) {
  constexpr double kTwoPi = 6.283185307179586476925286766559;
  const auto words = philox(seed, stream, index);
  const double radius = std::sqrt(-2.0 * std::log1p(-to_unit(words[0], words[1])));
  const double angle = kTwoPi * to_unit(words[2], words[3]);
  return {radius * std::cos(angle), radius * std::sin(angle)};
}

}  // namespace seekrl
