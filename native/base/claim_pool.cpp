// Helpers sleep on the count of published jobs; items are claimed from an atomic counter.
#include "base/claim_pool.h"

#include <utility>

namespace seekrl {

ClaimPool::~ClaimPool() {
  {
    std::lock_guard lock(mutex_);
    is_stopping_ = true;
  }
  publish(nullptr);
  for (std::thread& helper : helpers_) helper.join();
}

ClaimPool& ClaimPool::shared() {
  static ClaimPool pool;
  return pool;
}

namespace {

// Sleeping and waking costs some microseconds each way, as long as a small job: whoever waits looks on for about so
// long first (some 20 to 50 microseconds).
constexpr int kLooks = 1000;

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ __volatile__("yield");
#endif
}

template <class Counter>
void wait_while(const std::atomic<Counter>& counter, Counter seen) {
  for (int look = 0; look < kLooks; ++look) {
    if (counter.load(std::memory_order_acquire) != seen) return;
    relax();
  }
  counter.wait(seen);
}

}  // namespace

void ClaimPool::Job::run_item(int64_t item) {
  try {
    (*body)(item);
  } catch (...) {
    if (!has_failed.exchange(true)) error = std::current_exception();
  }
}

void ClaimPool::Job::work() {
  for (int64_t item = next.fetch_add(1); item < num_items; item = next.fetch_add(1)) {
    run_item(item);
    if (num_done.fetch_add(1) + 1 == num_items) num_done.notify_one();
  }
}

void ClaimPool::run(int64_t num_items, int num_helpers, const std::function<void(int64_t)>& body) {
  if (num_helpers <= 0 || num_items <= 1 || is_busy_.exchange(true)) {
    for (int64_t item = 0; item < num_items; ++item) body(item);
    return;
  }
  struct Release {
    std::atomic<bool>& is_busy;
    ~Release() { is_busy = false; }
  } release{is_busy_};
  run_shared(num_items, num_helpers, body);
}

void ClaimPool::run_shared(int64_t num_items, int num_helpers, const std::function<void(int64_t)>& body) {
  start_helpers(num_helpers);
  auto job = std::make_shared<Job>();
  job->num_items = num_items;
  job->num_helpers = num_helpers;
  job->body = &body;
  publish(job);
  job->work();
  for (int64_t done = job->num_done.load(); done < num_items; done = job->num_done.load())
    wait_while(job->num_done, done);
  if (job->error != nullptr) std::rethrow_exception(job->error);
}

void ClaimPool::publish(std::shared_ptr<Job> job) {
  {
    std::lock_guard lock(mutex_);
    job_ = std::move(job);
  }
  num_published_.fetch_add(1);
  num_published_.notify_all();
}

void ClaimPool::start_helpers(int count) {
  for (int index = static_cast<int>(helpers_.size()); index < count; ++index) {
    helpers_.emplace_back([this, index] { help(index); });
  }
}

void ClaimPool::help(int index) {
  for (;;) {
    const uint32_t seen = num_published_.load();
    std::shared_ptr<Job> job;
    {
      std::lock_guard lock(mutex_);
      if (is_stopping_) return;
      job = job_;
    }
    if (job != nullptr && index < job->num_helpers) job->work();
    job.reset();
    wait_while(num_published_, seen);
  }
}

}  // namespace seekrl
