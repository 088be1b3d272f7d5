// Random floats for the tests of kernels.
#pragma once

#include <cstdint>
#include <vector>

#include "base/random.h"

namespace seekrl::test {

using Floats = std::vector<float>;

inline Floats random_floats(int64_t count, uint64_t stream) {
  Floats values(count);
  for (int64_t i = 0; i < count; ++i) values[i] = static_cast<float>(normal_pair(7, stream, i).first);
  return values;
}

}  // namespace seekrl::test
