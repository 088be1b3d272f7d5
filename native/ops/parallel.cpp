// When a second thread is worth waking.
#include "ops/parallel.h"

#include <ATen/Parallel.h>

#include <algorithm>

#include "base/claim_pool.h"

namespace seekrl::ops {

namespace {

// Fewer multiply-adds than this are done sooner than a second thread wakes.
constexpr int64_t kWorthAThread = int64_t{1} << 20;

}  // namespace

int atens_helpers() { return at::get_num_threads() - 1; }

void share_items(int64_t num_items, int num_helpers, int64_t work, const std::function<void(int64_t)>& body) {
  const int64_t worth = std::min<int64_t>(work / kWorthAThread, num_items) - 1;
  const auto helpers = static_cast<int>(std::min<int64_t>(worth, num_helpers));
  if (helpers > 0) return ClaimPool::shared().run(num_items, helpers, body);
  for (int64_t item = 0; item < num_items; ++item) body(item);
}

}  // namespace seekrl::ops
