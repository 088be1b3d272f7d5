// The claim pool: every item once, whoever runs it.
#include "base/claim_pool.h"

#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

#include "check.h"

using seekrl::ClaimPool;

namespace {

// Whether `rounds` loops of different lengths ran each item exactly once.
bool runs_each_item_once(ClaimPool& pool, int rounds) {
  for (int round = 0; round < rounds; ++round) {
    std::vector<std::atomic<int>> counts(static_cast<size_t>(round % 37));
    pool.run(static_cast<int64_t>(counts.size()), 1 + round % 3,
             [&](int64_t item) { counts[static_cast<size_t>(item)].fetch_add(1); });
    for (const auto& count : counts) {
      if (count.load() != 1) return false;
    }
  }
  return true;
}

}  // namespace

TEST("a claim pool runs each item once, in thousands of short loops") {
  ClaimPool pool;
  EXPECT(runs_each_item_once(pool, 3000));
}

TEST("callers on several threads and loops inside loops share a pool without waiting for one another") {
  ClaimPool pool;
  std::atomic<int> num_good{0};
  std::vector<std::thread> callers;
  for (int i = 0; i < 3; ++i) callers.emplace_back([&] { num_good += runs_each_item_once(pool, 500) ? 1 : 0; });
  for (std::thread& caller : callers) caller.join();
  EXPECT(num_good == 3);
  std::atomic<int> num_inner{0};
  pool.run(4, 2, [&](int64_t) { pool.run(5, 2, [&](int64_t) { num_inner.fetch_add(1); }); });
  EXPECT(num_inner == 20);
}

TEST("an exception of any item reaches the caller of a claim pool, which goes on working") {
  ClaimPool pool;
  for (int round = 0; round < 20; ++round) {
    bool is_thrown = false;
    try {
      pool.run(30, 2, [&](int64_t item) {
        if (item == round) throw std::runtime_error("item");
      });
    } catch (const std::runtime_error&) {
      is_thrown = true;
    }
    EXPECT(is_thrown);
  }
  EXPECT(runs_each_item_once(pool, 50));
}
