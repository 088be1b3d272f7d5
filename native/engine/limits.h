// How large a step may be.
#pragma once

#include <cstdint>

namespace seekrl::engine {

struct Limits {
  int64_t max_batch_tokens;  // of one step
  int64_t max_batch_rows;    // sequences of one step
};

}  // namespace seekrl::engine
