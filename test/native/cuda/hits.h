// What a search of the tests leaves, and whether two left the same.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "gpu.h"

namespace seekrl::test {

struct Hits {
  std::vector<int32_t> ids;
  std::vector<float> scores;
};

// Ids and bits of scores.
inline bool is_same(const Hits& a, const Hits& b) {
  return a.ids == b.ids && std::equal(a.scores.begin(), a.scores.end(), b.scores.begin(), b.scores.end(),
                                      [](float x, float y) { return cuda::bits_of(x) == cuda::bits_of(y); });
}

}  // namespace seekrl::test
