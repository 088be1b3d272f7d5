// Work items claimed one by one by as many threads as ATen may use.
#pragma once

#include <ATen/Parallel.h>

#include <algorithm>
#include <cstdint>

#include "base/claim_pool.h"

namespace seekrl::ops {

// Fewer multiply-adds than this are done sooner than a second thread wakes.
inline constexpr int64_t kWorthAThread = int64_t{1} << 20;

// Runs body(item) for each item of [0, num_items) once, on as many threads as `work` (in multiply-adds, all items
// together) is worth. The order of items among threads is not fixed.
template <class Body>
void claim_items(int64_t num_items, int64_t work, const Body& body) {
  const int64_t worth = std::max<int64_t>(1, work / kWorthAThread);
  const int64_t num_threads = std::min<int64_t>({num_items, worth, int64_t{at::get_num_threads()}});
  if (num_threads <= 1) {
    for (int64_t item = 0; item < num_items; ++item) body(item);
    return;
  }
  ClaimPool::shared().run(num_items, static_cast<int>(num_threads - 1), body);
}

}  // namespace seekrl::ops
