// Blocks of threads: who runs next, barriers, collectives of a warp, shared memory.
#pragma once

#include <memory>
#include <source_location>
#include <string>

#include "order.h"

namespace seekrl::emulator {

// What follows is called at every collective: marked as the emulator's own business function by function, in which no
// other function is called that is not, because a scope of OwnBusiness takes a microsecond.

SEEKRL_OWN_BUSINESS inline bool can_run(const Thread& thread) {
  return !thread.is_done && (thread.waits_at == nullptr || *thread.waits_at != thread.waits_for);
}

// The next after `place` of those of [first, first + count) that can run; null for none.
SEEKRL_OWN_BUSINESS inline Thread* next_of(Block& b, int first, int count, int place) {
  for (int i = 0; i < count; ++i) {
    if (++place >= first + count) place = first;
    if (can_run(*b.queue[place])) return b.queue[place];
  }
  return nullptr;
}

// Names who waits for whom.
[[noreturn]] inline void fail_in_deadlock() {
  const OwnBusiness own;
  const Block& b = this_block();
  int num_in_warps = 0;
  std::string where;
  for (const auto& each : b.threads) {
    if (each->is_done || each->waits_at != &each->warp->meeting) continue;
    if (num_in_warps++ == 0) where = " in line " + std::to_string(each->warp->at.line());
  }
  fail("deadlock: of " + std::to_string(b.num_threads) + " threads " + std::to_string(b.num_arrived) +
       " wait at a barrier (line " + std::to_string(b.barrier_at.line()) + "), " + std::to_string(num_in_warps) +
       " for lanes" + where + ", " + std::to_string(b.num_threads - b.num_live) + " have ended");
}

// Whose turn is next: a thread's that waits for nothing, of the own warp where warps run one after the other; the
// home's when all are done.
SEEKRL_OWN_BUSINESS inline Fiber& next_fiber() {
  Block& b = this_block();
  if (b.num_live == 0) return b.home;
  const Thread& self = this_thread();
  const Warp& warp = *self.warp;
  Thread* to = nullptr;
  if (b.order_seed % 2 == 0) to = next_of(b, warp.first_place, warp.num_threads, self.place);
  if (to == nullptr) to = next_of(b, 0, b.num_threads, self.place);
  if (to == nullptr) fail_in_deadlock();
  run_as(&b, to);
  return to->fiber;
}

SEEKRL_OWN_BUSINESS inline void run_next_thread() {
  Fiber& own = this_thread().fiber;
  Fiber& next = next_fiber();
  if (&next != &own) own.switch_to(next);
}

// Until `*at` is another number.
SEEKRL_OWN_BUSINESS inline void wait_at(const uint32_t* at) {
  Thread& self = this_thread();
  self.waits_at = at;
  self.waits_for = *at;
  while (!can_run(self)) run_next_thread();
  self.waits_at = nullptr;
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
    --b.num_live;
    next = &next_fiber();
  }
  self.fiber.switch_to(*next);
}

SEEKRL_OWN_BUSINESS inline bool is_same(const std::source_location& a, const std::source_location& b) {
  return a.line() == b.line() && a.column() == b.column();
}

[[noreturn]] inline void fail_apart(const char* what, const std::source_location& a, const std::source_location& b) {
  fail(std::string(what) + ": in lines " + std::to_string(a.line()) + " and " + std::to_string(b.line()));
}

SEEKRL_OWN_BUSINESS inline void wait_for_block(const std::source_location& at) {
  Block& b = this_block();
  if (b.num_arrived == 0) b.barrier_at = at;
  if (!is_same(b.barrier_at, at)) fail_apart("threads of a block meet at different barriers", b.barrier_at, at);
  if (++b.num_arrived < b.num_threads) return wait_at(&b.barrier);
  b.num_arrived = 0;
  ++b.barrier;
  reorder(b);
}

inline void sync_block(const std::source_location& at) {
  Block& b = this_block();
  leave(&b.barrier);
  wait_for_block(at);
  pass(&b.barrier);
}

SEEKRL_OWN_BUSINESS inline uint32_t wait_for_lanes(uint32_t mask, Collective collective,
                                                   const std::source_location& at) {
  Thread& thread = this_thread();
  Warp& warp = *thread.warp;
  const uint32_t meeting = warp.meeting;
  if ((mask >> thread.lane & 1) == 0) fail("a collective by a lane outside its mask");
  if (warp.num_arrived++ == 0) {
    warp.collective = collective;
    warp.mask = mask;
    warp.at = at;
  }
  if (warp.collective != collective || warp.mask != mask) fail("lanes of a warp meet in different collectives");
  if (!is_same(warp.at, at)) fail_apart("lanes of a warp meet in different places", warp.at, at);
  if (warp.num_arrived < __builtin_popcount(mask)) {
    wait_at(&warp.meeting);
  } else {
    warp.num_arrived = 0;
    ++warp.meeting;
  }
  return meeting;
}

SEEKRL_OWN_BUSINESS inline Warp& this_warp() { return *this_thread().warp; }

// Waits for the lanes of `mask`; the number of the meeting, whose slots hold what they brought. As in CUDA's memory
// model, __syncwarp alone orders what lanes write and read.
inline uint32_t meet(uint32_t mask, Collective collective, const std::source_location& at = {}) {
  Warp& warp = this_warp();
  if (collective == Collective::kSync) leave(&warp);
  const uint32_t meeting = wait_for_lanes(mask, collective, at);
  if (collective == Collective::kSync) pass(&warp);
  return meeting;
}

// The slot of a lane in the meeting that comes next, or came. ThreadSanitizer sees a memcpy, and no bytes one by one.
#if defined(__SANITIZE_THREAD__)
SEEKRL_OWN_BUSINESS inline void copy_slot(void* to, const void* from, size_t num_bytes) {
  for (size_t i = 0; i < num_bytes; ++i) {
    static_cast<volatile uint8_t*>(to)[i] = static_cast<const volatile uint8_t*>(from)[i];
  }
}
#else
__attribute__((always_inline)) inline void copy_slot(void* to, const void* from, size_t num_bytes) {
  std::memcpy(to, from, num_bytes);
}
#endif
template <class Value>
SEEKRL_OWN_BUSINESS void bring(const Value& value) {
  static_assert(sizeof(Value) <= 32);
  Warp& warp = this_warp();
  copy_slot(warp.slots[warp.meeting % 2][this_thread().lane], &value, sizeof(Value));
}
template <class Value>
SEEKRL_OWN_BUSINESS Value brought(uint32_t meeting, int lane) {
  SEEKRL_UNSET Value value;
  copy_slot(&value, this_warp().slots[meeting % 2][lane], sizeof(Value));
  return value;
}

inline std::atomic<int> num_shared_variables{0};

// The block's memory of one shared variable; 0 is the dynamic one. A GPU takes what is static beside what is dynamic.
inline void* shared_memory(int variable, size_t num_bytes) {
  const OwnBusiness own;
  Block& b = this_block();
  std::unique_ptr<SharedBytes>& memory = b.shared[variable];
  if (memory != nullptr) return memory->bytes;
  const auto rounded = [](size_t bytes, size_t to) { return (bytes + to - 1) / to * to; };
  if (variable != 0) b.num_static_bytes = rounded(b.num_static_bytes, kStaticAlign) + num_bytes;
  const size_t all = rounded(b.num_static_bytes, kDynamicAlign) + b.num_dynamic_bytes;
  if (all > kMaxSharedBytes) fail("more shared memory, static and dynamic, than a block has on every GPU");
  if (all > kGivenSharedBytes && !b.launch->has_asked)
    fail("more shared memory, static and dynamic, than was asked for");
  memory = std::make_unique<SharedBytes>(num_bytes, variable == 0 ? kDynamicAlign : kStaticAlign);
  return memory->bytes;
}
SEEKRL_OWN_BUSINESS inline void* dynamic_shared_memory() { return shared_memory(0, this_block().num_dynamic_bytes); }

template <class Value>
Value shuffle(uint32_t mask, Value value, int from, const std::source_location& at) {
  bring(value);
  const uint32_t meeting = meet(mask, Collective::kShuffle, at);
  count(counts.num_shuffles);
  if ((mask >> (from & 31) & 1) == 0) fail("a shuffle from a lane outside its mask");
  return brought<Value>(meeting, from & 31);
}

}  // namespace seekrl::emulator
