// Blocks of threads: who runs next, barriers, collectives of a warp, and what a kernel does wrong.
#pragma once

#include <atomic>
#include <bit>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "fiber.h"

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

// 0: threads run in the order of their numbers; else in one that this number makes, another in each block.
inline std::atomic<uint64_t> thread_order{0};

// 16 bytes on their way from global to shared memory.
struct Copy {
  void* to;
  uint8_t bytes[16];
  int group;
};

struct Warp;

struct Thread {
  explicit Thread(void (*entry)()) : fiber(entry) {}
  Fiber fiber;
  Dim3 index;
  Warp* warp = nullptr;
  int lane = 0;
  bool is_done = false;
  std::deque<Copy> copies;
  int num_groups = 0;
};

enum class Collective { kNone, kSync, kShuffle, kVote, kLdmatrix, kLdmatrixRead, kMma };

// Lanes meet here; what they bring lies in the slots of their meeting's turn, so that the next may begin at once.
struct Warp {
  int num_arrived = 0;
  uint32_t meeting = 0, mask = 0;
  Collective collective = Collective::kNone;
  alignas(16) uint8_t slots[2][32][32];
};

// Shared memory holds NaN in every format until a thread writes it.
inline constexpr uint8_t kPoison = 0xff;
struct SharedBytes {
  explicit SharedBytes(size_t count) : bytes(static_cast<uint8_t*>(::operator new(count, kAlign))) {
    std::memset(bytes, kPoison, count);
  }
  SharedBytes(const SharedBytes&) = delete;
  SharedBytes& operator=(const SharedBytes&) = delete;
  ~SharedBytes() { ::operator delete(bytes, kAlign); }

  static constexpr std::align_val_t kAlign{128};
  uint8_t* const bytes;
};

// What its blocks share. They are in no order to each other: what the host did before is known to all, what they did
// is known to the host when all are done.
struct Launch {
  std::function<void()> body;
  char started = 0, done = 0;
};

struct Block {
  Dim3 index, shape, grid;
  std::vector<std::unique_ptr<Thread>> threads;
  std::vector<Warp> warps;
  std::vector<Thread*> order;
  Thread** queue = nullptr;  // the data of `order`
  int num_threads = 0;
  size_t num_dynamic_bytes = 0;
  std::map<int, std::unique_ptr<SharedBytes>> shared;  // by the variable; 0 is the dynamic one
  Launch* launch = nullptr;
  Fiber home;
  std::string fault;
  int current = 0, num_live = 0, num_arrived = 0;
  uint32_t barrier = 0;
  int64_t num_idle_switches = 0;
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

// What follows is called at every collective: marked as the emulator's own business function by function, in which no
// other function is called that is not, because a scope of OwnBusiness takes a microsecond.

// Whose turn is next: the home's when all threads are done.
SEEKRL_OWN_BUSINESS inline Fiber& next_fiber() {
  Block& b = this_block();
  if (b.num_live == 0) return b.home;
  const int64_t count = b.num_threads;
  if (++b.num_idle_switches > 8 * count * count + 10000)
    fail("deadlock: not all threads reach a barrier or collective");
  do b.current = b.current + 1 == b.num_threads ? 0 : b.current + 1;
  while (b.queue[b.current]->is_done);
  Thread& to = *b.queue[b.current];
  run_as(&b, &to);
  return to.fiber;
}

SEEKRL_OWN_BUSINESS inline void run_next_thread() {
  Fiber& own = this_thread().fiber;
  Fiber& next = next_fiber();
  if (&next != &own) own.switch_to(next);
}

inline void run_thread() {
  Block& b = this_block();
  Thread& self = this_thread();
  Launch& launch = this_launch();
  pass(&launch.started);
  launch.body();
  leave(&launch.done);
  Fiber* next = nullptr;
  {
    const OwnBusiness own;
    if (!self.copies.empty()) fail("cp.async: a copy that no wait has ended when its thread does");
    self.is_done = true;
    b.num_idle_switches = 0;
    --b.num_live;
    next = &next_fiber();
  }
  self.fiber.switch_to(*next);
}

SEEKRL_OWN_BUSINESS inline void wait_for_block() {
  Block& b = this_block();
  const uint32_t barrier = b.barrier;
  if (++b.num_arrived == b.num_threads) {
    b.num_arrived = 0;
    ++b.barrier;
    b.num_idle_switches = 0;
  }
  while (b.barrier == barrier) run_next_thread();
}

inline void sync_block() {
  Block& b = this_block();
  leave(&b.barrier);
  wait_for_block();
  pass(&b.barrier);
}

SEEKRL_OWN_BUSINESS inline uint32_t wait_for_lanes(uint32_t mask, Collective collective) {
  Thread& thread = this_thread();
  Warp& warp = *thread.warp;
  const uint32_t meeting = warp.meeting;
  if ((mask >> thread.lane & 1) == 0) fail("a collective by a lane outside its mask");
  if (warp.num_arrived++ == 0) {
    warp.collective = collective;
    warp.mask = mask;
  }
  if (warp.collective != collective || warp.mask != mask) fail("lanes of a warp meet in different collectives");
  if (warp.num_arrived == __builtin_popcount(mask)) {
    warp.num_arrived = 0;
    ++warp.meeting;
    this_block().num_idle_switches = 0;
  }
  while (warp.meeting == meeting) run_next_thread();
  return meeting;
}

SEEKRL_OWN_BUSINESS inline Warp& this_warp() { return *this_thread().warp; }

// Waits for the lanes of `mask`; the number of the meeting, whose slots hold what they brought. As in CUDA's memory
// model, __syncwarp alone orders what lanes write and read.
inline uint32_t meet(uint32_t mask, Collective collective) {
  Warp& warp = this_warp();
  if (collective == Collective::kSync) leave(&warp);
  const uint32_t meeting = wait_for_lanes(mask, collective);
  if (collective == Collective::kSync) pass(&warp);
  return meeting;
}

// The slot of a lane in the meeting that comes next, or came.
template <class Value>
SEEKRL_OWN_BUSINESS void bring(const Value& value) {
  static_assert(sizeof(Value) <= 32);
  Warp& warp = this_warp();
  auto* const to = reinterpret_cast<volatile uint8_t*>(warp.slots[warp.meeting % 2][this_thread().lane]);
  for (size_t i = 0; i < sizeof(Value); ++i) to[i] = reinterpret_cast<const uint8_t*>(&value)[i];
}
template <class Value>
SEEKRL_OWN_BUSINESS Value brought(uint32_t meeting, int lane) {
  Value value;
  const auto* const from = reinterpret_cast<volatile uint8_t*>(this_warp().slots[meeting % 2][lane]);
  for (size_t i = 0; i < sizeof(Value); ++i) reinterpret_cast<uint8_t*>(&value)[i] = from[i];
  return value;
}

inline std::atomic<int> num_shared_variables{0};

// The block's memory of one shared variable.
inline void* shared_memory(int variable, size_t num_bytes) {
  const OwnBusiness own;
  std::unique_ptr<SharedBytes>& memory = this_block().shared[variable];
  if (memory == nullptr) memory = std::make_unique<SharedBytes>(num_bytes);
  return memory->bytes;
}
SEEKRL_OWN_BUSINESS inline void* dynamic_shared_memory() { return shared_memory(0, this_block().num_dynamic_bytes); }

template <class Value>
Value shuffle(uint32_t mask, Value value, int from) {
  bring(value);
  const uint32_t meeting = meet(mask, Collective::kShuffle);
  count(counts.num_shuffles);
  if ((mask >> (from & 31) & 1) == 0) fail("a shuffle from a lane outside its mask");
  return brought<Value>(meeting, from & 31);
}

}  // namespace seekrl::emulator
