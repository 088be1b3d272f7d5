// The dynamic 8-bit number of Dettmers et al., "8-bit Optimizers via Block-wise Quantization" (arXiv 2110.02861): the
// values of bitsandbytes' create_dynamic_map, which lie in [-1, 1] or [0, 1] in seven decades, denser towards 1.
#pragma once

#include <cstdint>

namespace seekrl::kernels {

// Codes of numbers with a sign: a magnitude's index, with this bit when it is below 0; minus nothing stands for 1,
// which has no negative.
constexpr uint8_t kNegative = 128;

// The magnitudes from 0 to 1 in ascending order, and how the nearest to x is found: `lowest` has that of the least
// number whose first 16 bits are those of x, and at most one middle lies between it and the next such number.
struct DynamicMap {
  static constexpr uint32_t kFirstKey = 103u << 7;  // 2^-24; what is less is nearest to 0
  static constexpr uint32_t kLastKey = 127u << 7;   // 1

  float middles[256] = {};  // between a magnitude and the next; infinite behind the last
  uint8_t lowest[kLastKey - kFirstKey + 1] = {};
  float decoded[256] = {};  // the number that a code stands for
};

// Of numbers with a sign: 0, 128 magnitudes and 127 of them negative. Of others: 0 and 255 magnitudes, by their index.
const DynamicMap& signed_map();
const DynamicMap& unsigned_map();

}  // namespace seekrl::kernels
