// Threads that help a caller with the items of one loop; whoever is free claims the next item.
//
// Unlike OpenMP's regions, the caller never waits for a helper to wake: on a busy machine it does all the work itself,
// and waits only for items that a helper has begun.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace seekrl {

class ClaimPool {
 public:
  ClaimPool() = default;
  ~ClaimPool();
  ClaimPool(const ClaimPool&) = delete;
  ClaimPool& operator=(const ClaimPool&) = delete;

  // The process's own pool; its helpers start when first needed.
  static ClaimPool& shared();

  // Runs body(item) once for each item of [0, num_items), on the calling thread and at most num_helpers more. The
  // first exception it throws is thrown again here once no item runs. A call while another runs, from inside `body`
  // too, is done by its caller alone.
  void run(int64_t num_items, int num_helpers, const std::function<void(int64_t)>& body);

 private:
  struct Job {
    std::atomic<int64_t> next{0};
    std::atomic<int64_t> num_done{0};
    int64_t num_items = 0;
    int num_helpers = 0;
    const std::function<void(int64_t)>* body = nullptr;  // alive while an item is unfinished
    std::atomic<bool> has_failed{false};
    std::exception_ptr error;  // written by whoever set has_failed

    void work();
    void run_item(int64_t item);
  };

  void help(int index);
  void start_helpers(int count);
  void publish(std::shared_ptr<Job> job);

  void run_shared(int64_t num_items, int num_helpers, const std::function<void(int64_t)>& body);

  std::atomic<bool> is_busy_{false};
  std::mutex mutex_;
  std::shared_ptr<Job> job_;
  std::atomic<uint32_t> num_published_{0};
  bool is_stopping_ = false;
  std::vector<std::thread> helpers_;
};

}  // namespace seekrl
