// What a launch, a block, a warp and a thread of it are, and what is found wrong with them.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <new>
#include <source_location>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "fiber.h"

// Locals of the emulator that a build for tests would fill (native/kernels/cuda/build.cmake), at each product of a
// warp.
#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 12
#define SEEKRL_UNSET __attribute__((uninitialized))
#else
#define SEEKRL_UNSET
#endif

namespace seekrl::emulator {

struct Dim3 {
  unsigned x = 1, y = 1, z = 1;
  constexpr Dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
  constexpr int64_t count() const { return int64_t{x} * y * z; }
};

// What a kernel did that a GPU may let pass.
struct Fault : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Of all kernels since the last reset; of shuffles, one a lane.
struct Counts {
  std::atomic<int64_t> num_mma{0}, num_ldmatrix{0}, num_bank_conflicts{0}, num_shuffles{0}, num_copies{0};
};
inline Counts counts;
// Orders nothing between those who count.
inline void count(std::atomic<int64_t>& what, int64_t by = 1) { what.fetch_add(by, std::memory_order_relaxed); }

// Of the threads of a block: order.h.
inline std::atomic<uint64_t> thread_order{0};

// 16 bytes on their way from global to shared memory; from: null for zeros.
struct Copy {
  void* to;
  const void* from;
  uint8_t bytes[16];
  int group;
};

struct Warp;

struct Thread {
  explicit Thread(void (*entry)()) : fiber(entry) {}
  Fiber fiber;
  Dim3 index;
  Warp* warp = nullptr;
  int lane = 0, place = 0;             // in its warp, in the block's queue
  const uint32_t* waits_at = nullptr;  // it goes on when this is not waits_for; null: it waits for nothing
  uint32_t waits_for = 0;
  bool is_done = false;
  std::deque<Copy> copies;
  int num_groups = 0;
};

enum class Collective { kNone, kSync, kShuffle, kVote, kLdmatrix, kLdmatrixRead, kMma };

// Lanes meet here; what they bring lies in the slots of their meeting's turn, so that the next may begin at once.
struct Warp {
  int first_place = 0, num_threads = 0;  // where the threads of its turn stand in the queue, when they stand together
  int num_arrived = 0;
  std::source_location at;
  uint32_t meeting = 0, mask = 0;
  Collective collective = Collective::kNone;
  alignas(16) uint8_t slots[2][32][32];
};

// Shared memory holds NaN in every format until a thread writes it. It begins at a multiple of `align` bytes and of no
// more.
inline constexpr uint8_t kPoison = 0xff;
struct SharedBytes {
  SharedBytes(size_t count, size_t align)
      : memory(static_cast<uint8_t*>(::operator new(count + align, kAlign))), bytes(memory + align) {
    std::memset(bytes, kPoison, count);
  }
  SharedBytes(const SharedBytes&) = delete;
  SharedBytes& operator=(const SharedBytes&) = delete;
  ~SharedBytes() { ::operator delete(memory, kAlign); }

  static constexpr std::align_val_t kAlign{256};
  uint8_t* const memory;
  uint8_t* const bytes;
};
// Of SEEKRL_SHARED and SEEKRL_DYNAMIC_SHARED.
inline constexpr size_t kStaticAlign = 16, kDynamicAlign = 128;
// What a block has without asking, static and dynamic, and what it can have on every GPU from sm_80 on.
inline constexpr size_t kGivenSharedBytes = 48 << 10, kMaxSharedBytes = 99 << 10;

// What its blocks share. They are in no order to each other: what the host did before is known to all, what they did
// is known to the host when all are done.
struct Launch {
  std::function<void()> body;
  bool has_asked = false;  // for more shared memory than is given
  char started = 0, done = 0;
};

struct Block {
  Dim3 index, shape, grid;
  std::vector<std::unique_ptr<Thread>> threads;
  std::vector<Warp> warps;
  std::vector<Thread*> order;
  Thread** queue = nullptr;  // the data of `order`
  Warp* warps_data = nullptr;
  int num_threads = 0, num_warps = 0, num_whole_warps = 0;
  size_t num_dynamic_bytes = 0, num_static_bytes = 0;
  std::map<int, std::unique_ptr<SharedBytes>> shared;  // by the variable; 0 is the dynamic one
  Launch* launch = nullptr;
  Fiber home;
  std::string fault;
  int num_live = 0, num_arrived = 0;
  uint32_t barrier = 0;
  std::source_location barrier_at;
  uint64_t order_seed = 0, random = 0;  // order_seed: thread_order when the block began
};

// Of one of the host's threads, which runs one block at a time.
struct Running {
  Block* block = nullptr;
  Thread* thread = nullptr;
};
inline thread_local Running running;
SEEKRL_OWN_BUSINESS inline Block& this_block() { return *running.block; }
SEEKRL_OWN_BUSINESS inline Thread& this_thread() { return *running.thread; }
SEEKRL_OWN_BUSINESS inline Launch& this_launch() { return *running.block->launch; }
// By value: another block's index will stand there.
SEEKRL_OWN_BUSINESS inline Dim3 block_index() { return running.block->index; }
SEEKRL_OWN_BUSINESS inline void run_as(Block* block, Thread* thread) { running = {block, thread}; }

// Ends the block: the threads' stacks are given up as they are.
[[noreturn]] inline void fail(const std::string& what) {
  this_block().fault = what;
  this_thread().fiber.switch_to(this_block().home);
  std::abort();
}

}  // namespace seekrl::emulator
