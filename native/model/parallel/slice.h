// The part of a weight that one rank holds.
#pragma once

#include <cstdint>

namespace seekrl::model {

// Rows (dim 0) or columns (dim 1) [first, first + count) of `whole`; whole 0: the weight is on every rank.
struct Slice {
  int64_t dim = 0, first = 0, count = 0, whole = 0;

  bool is_all() const { return whole == 0; }
};

}  // namespace seekrl::model
