// The map's values by bitsandbytes' rule (functional.py, create_dynamic_map), and the table of its look-up. As torch's
// linspace has it, all is f32, and the upper half of a decade is counted from its end.
#include "kernels/dynamic_map.h"

#include <bit>
#include <cstddef>
#include <limits>
#include <vector>

namespace seekrl::kernels {

namespace {

constexpr float kPowers[] = {1e-6f, 1e-5f, 1e-4f, 1e-3f, 1e-2f, 1e-1f, 1.0f};

// Decade i, up to 10^(i - 6), has the middles of first << i equal parts of its [0.1, 1].
std::vector<float> magnitudes(int first) {
  std::vector<float> values = {0.0f};
  int parts = first;
  for (const float power : kPowers) {
    const float step = 0.9f / static_cast<float>(parts);
    const auto boundary = [&](int i) {
      return i <= parts / 2 ? 0.1f + step * static_cast<float>(i) : 1.0f - step * static_cast<float>(parts - i);
    };
    for (int part = 0; part < parts; ++part) values.push_back(power * ((boundary(part) + boundary(part + 1)) / 2.0f));
    parts *= 2;
  }
  values.push_back(1.0f);
  return values;
}

DynamicMap make_map(int first, bool has_sign) {
  DynamicMap map;
  const std::vector<float> values = magnitudes(first);
  for (std::size_t i = 0; i < values.size(); ++i) {
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
