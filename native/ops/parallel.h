// Work items claimed one by one by several threads.
#pragma once

#include <cstdint>
#include <functional>

namespace seekrl::ops {

// Helpers of a caller that may use as many threads as ATen.
int atens_helpers();

// Runs body(item) once for each item of [0, num_items) on this thread and at most num_helpers of the process's claim
// pool; on fewer when `work` (multiply-adds, all items together) is too little to share. The order of items among
// threads is not fixed.
void share_items(int64_t num_items, int num_helpers, int64_t work, const std::function<void(int64_t)>& body);

inline void claim_items(int64_t num_items, int64_t work, const std::function<void(int64_t)>& body) {
  share_items(num_items, atens_helpers(), work, body);
}

}  // namespace seekrl::ops
