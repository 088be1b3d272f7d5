// The map's values by bitsandbytes' rule (functional.py, create_dynamic_map), and the table of its look-up.
#include "kernels/cpu/adamw/dynamic_map.h"

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

namespace seekrl::kernels {

namespace {

constexpr int kDecades = 7;

// Decade i, up to 10^(i - 6), has the middles of first << i equal parts of its [0.1, 1].
std::vector<float> magnitudes(int first) {
  std::vector<float> values = {0.0f};
  for (int decade = 0; decade < kDecades; ++decade) {
    const int parts = first << decade;
    for (int part = 0; part < parts; ++part) {
      const double middle = 0.1 + 0.9 * (part + 0.5) / parts;
      values.push_back(static_cast<float>(middle * std::pow(10.0, decade - kDecades + 1)));
    }
  }
  values.push_back(1.0f);
  return values;
}

DynamicMap make_map(int first, bool has_sign) {
  DynamicMap map;
  const std::vector<float> values = magnitudes(first);
  for (size_t i = 0; i < values.size(); ++i) {
    const bool is_last = i + 1 == values.size();
    map.middles[i] = is_last ? std::numeric_limits<float>::infinity() : (values[i] + values[i + 1]) * 0.5f;
    map.decoded[i] = values[i];
    if (has_sign && i > 0 && !is_last) map.decoded[kNegative + i] = -values[i];
  }
  int low = 0;
  for (uint32_t key = DynamicMap::kFirstKey; key <= DynamicMap::kLastKey; ++key) {
    while (std::bit_cast<float>(key << 16) > map.middles[low]) ++low;
    map.lowest[key - DynamicMap::kFirstKey] = static_cast<uint8_t>(low);
  }
  return map;
}

}  // namespace

const DynamicMap& signed_map() {
  static const DynamicMap map = make_map(1, true);
  return map;
}

const DynamicMap& unsigned_map() {
  static const DynamicMap map = make_map(2, false);
  return map;
}

}  // namespace seekrl::kernels
