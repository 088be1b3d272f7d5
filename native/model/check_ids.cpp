// One comparison per id.
#include "model/check_ids.h"

#include "base/error.h"

namespace seekrl::model {

void check_ids(std::span<const int64_t> ids, int64_t vocab_size, const char* where) {
  for (const int64_t id : ids) {
    require(id >= 0 && id < vocab_size, ErrorCode::kRange, where, ": expected 0 to ", vocab_size - 1, ", got ", id);
  }
}

}  // namespace seekrl::model
