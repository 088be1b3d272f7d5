// A launch: blocks as tasks of the host's threads, one at a time on each.
#pragma once

#include <dlfcn.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>

#include "block.h"

namespace seekrl::emulator {

inline constexpr int64_t kMaxThreads = 1024;
// Of the host's threads that run a launch's blocks, as many as there are processors.
inline int64_t max_workers = std::max(1u, std::thread::hardware_concurrency());

// What one block did is not known to the next: nothing orders them on a GPU.
inline void run_block(Block& b, const Dim3& index, size_t shared_bytes) {
  const OwnBusiness own;
  b.index = index;
  b.num_live = static_cast<int>(b.threads.size());
  b.num_arrived = 0;
  b.num_dynamic_bytes = shared_bytes;
  b.num_static_bytes = 0;
  b.shared.clear();
  for (Warp& warp : b.warps) warp = Warp{};
  for (const auto& each : b.threads) {
    each->is_done = false;
    each->waits_at = nullptr;
    each->copies.clear();
    each->num_groups = 0;
    each->fiber.rewind();
  }
  order_threads(b);
  Thread& first = *b.order[0];
  run_as(&b, &first);
  b.home.switch_to(first.fiber);
}

inline void make_threads(Block& b) {
  const int64_t count = b.shape.count();
  b.warps.resize((count + 31) / 32);
  b.order.resize(count);
  for (int64_t i = 0; i < count; ++i) {
    auto each = std::make_unique<Thread>(&run_thread);
    each->lane = static_cast<int>(i % 32);
    each->warp = &b.warps[i / 32];
    b.threads.push_back(std::move(each));
  }
}

// Of one of the host's threads; kept, because threads of ThreadSanitizer's are dear.
inline Block& block_of(const Dim3& shape) {
  static thread_local std::map<int64_t, Block> blocks;
  Block& b = blocks[shape.count()];
  b.shape = shape;
  if (b.threads.empty()) make_threads(b);
  for (int64_t i = 0; i < shape.count(); ++i) {
    b.threads[i]->index = Dim3(i % shape.x, i / shape.x % shape.y, i / shape.x / shape.y);
  }
  return b;
}

// Which kernels were launched, and the most threads and dynamic shared memory of each: what nvcc's results do not say.
// At the end the file that SEEKRL_LAUNCHES names gets a line for each, its address in the program first.
class LaunchLog {
 public:
  void add(const void* kernel, int64_t num_threads, size_t shared_bytes) {
    if (path_ == nullptr) return;
    const std::lock_guard lock(mutex_);
    Largest& largest = kernels_[kernel];
    largest.num_threads = std::max(largest.num_threads, num_threads);
    largest.shared_bytes = std::max(largest.shared_bytes, shared_bytes);
  }
  ~LaunchLog() {
    std::FILE* file = path_ == nullptr ? nullptr : std::fopen(path_, "w");
    if (file == nullptr) return;
    for (const auto& [kernel, largest] : kernels_) {
      Dl_info program;
      if (dladdr(kernel, &program) == 0) continue;
      const auto at = static_cast<const char*>(kernel) - static_cast<const char*>(program.dli_fbase);
      std::fprintf(file, "%zx %zu %zu\n", static_cast<size_t>(at), static_cast<size_t>(largest.num_threads),
                   largest.shared_bytes);
    }
    std::fclose(file);
  }

 private:
  struct Largest {
    int64_t num_threads = 0;
    size_t shared_bytes = 0;
  };
  const char* path_ = std::getenv("SEEKRL_LAUNCHES");
  std::mutex mutex_;
  std::map<const void*, Largest> kernels_;
};
inline LaunchLog launch_log;

// Who runs launches later, in their order; null: each is done when it returns.
inline void (*defer)(std::function<void()>) = nullptr;

// Runs all blocks and waits for them; throws the first Fault.
inline void run_blocks(Dim3 grid, Dim3 shape, std::function<void()> body, size_t shared_bytes, bool has_asked) {
  Launch shared{std::move(body), has_asked};
  std::atomic<int64_t> next{0};
  std::mutex mutex;
  std::string fault;
  const auto work = [&] {
    Block& b = block_of(shape);
    b.grid = grid;
    b.launch = &shared;
    b.fault.clear();
    leave(&shared.started);
    for (int64_t turn = next++; turn < grid.count(); turn = next++) {
      const int64_t i = block_of_turn(turn, grid.count());
      run_block(b, Dim3(i % grid.x, i / grid.x % grid.y, i / grid.x / grid.y), shared_bytes);
      if (b.fault.empty()) continue;
      const std::lock_guard lock(mutex);
      if (fault.empty()) fault = b.fault;
      next = grid.count();
    }
    pass(&shared.done);
    run_as(nullptr, nullptr);
  };
  std::vector<std::thread> helpers;
#if defined(__SANITIZE_THREAD__)
  const int64_t num_workers = 1;  // blocks are in no order to it all the same
#else
  const int64_t num_workers = std::min(grid.count(), max_workers);
#endif
  for (int64_t i = 1; i < num_workers; ++i) helpers.emplace_back(work);
  work();
  for (std::thread& helper : helpers) helper.join();
  if (!fault.empty()) throw Fault(fault);
}

// has_asked: for more shared memory than is given.
inline void launch(Dim3 grid, Dim3 shape, size_t shared_bytes, bool has_asked, std::function<void()> body) {
  if (grid.count() < 1 || grid.x > INT32_MAX || grid.y > 65535 || grid.z > 65535)
    throw Fault("launch: a grid of no blocks or too many");
  if (shape.count() < 1 || shape.count() > kMaxThreads || shape.z > 64)
    throw Fault("launch: a block of no threads or too many");
  if (shared_bytes > kGivenSharedBytes && !has_asked) throw Fault("launch: more shared memory than was asked for");
  if (defer == nullptr) return run_blocks(grid, shape, std::move(body), shared_bytes, has_asked);
  defer([=] { run_blocks(grid, shape, body, shared_bytes, has_asked); });
}

}  // namespace seekrl::emulator
