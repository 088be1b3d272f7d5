// Work items claimed one by one by ATen's threads, so that uneven items and stolen cores do not unbalance them.
#pragma once

#include <ATen/Parallel.h>

#include <algorithm>
#include <atomic>
#include <cstdint>

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
  std::atomic<int64_t> next{0};
  at::parallel_for(0, num_threads, 1, [&](int64_t, int64_t) {
    for (int64_t item = next.fetch_add(1); item < num_items; item = next.fetch_add(1)) body(item);
  });
}

}  // namespace seekrl::ops
