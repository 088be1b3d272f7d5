// A thread of an emulated block: a stack of its own, entered and left by name.
//
// Under ThreadSanitizer each is a thread to it too, and a switch tells it of no order: two threads of a block that
// touch the same byte without a barrier between them are a race, which it reports.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif
#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
extern "C" void AnnotateIgnoreReadsBegin(const char* file, int line);
extern "C" void AnnotateIgnoreReadsEnd(const char* file, int line);
extern "C" void AnnotateIgnoreWritesBegin(const char* file, int line);
extern "C" void AnnotateIgnoreWritesEnd(const char* file, int line);
#endif

// Keeps the callee-saved registers on the stack that is left, at `*from`, and takes up the one at `to`.
extern "C" void seekrl_switch_stack(void** from, void* to);
#if defined(__x86_64__)
asm(R"(
  .weak seekrl_switch_stack
seekrl_switch_stack:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
)");
#elif defined(__aarch64__)
asm(R"(
  .weak seekrl_switch_stack
seekrl_switch_stack:
  sub sp, sp, #160
  stp d8, d9, [sp, #0]
  stp d10, d11, [sp, #16]
  stp d12, d13, [sp, #32]
  stp d14, d15, [sp, #48]
  stp x19, x20, [sp, #64]
  stp x21, x22, [sp, #80]
  stp x23, x24, [sp, #96]
  stp x25, x26, [sp, #112]
  stp x27, x28, [sp, #128]
  stp x29, x30, [sp, #144]
  mov x9, sp
  str x9, [x0]
  mov sp, x1
  ldp d8, d9, [sp, #0]
  ldp d10, d11, [sp, #16]
  ldp d12, d13, [sp, #32]
  ldp d14, d15, [sp, #48]
  ldp x19, x20, [sp, #64]
  ldp x21, x22, [sp, #80]
  ldp x23, x24, [sp, #96]
  ldp x25, x26, [sp, #112]
  ldp x27, x28, [sp, #128]
  ldp x29, x30, [sp, #144]
  add sp, sp, #160
  ret
)");
#else
#error "the emulator switches stacks on x86-64 and aarch64 alone"
#endif

// Marks a function whose accesses are the emulator's own business, not the kernel's.
#if defined(__SANITIZE_THREAD__)
#define SEEKRL_OWN_BUSINESS __attribute__((no_sanitize("thread"), noinline))
#else
#define SEEKRL_OWN_BUSINESS
#endif

namespace seekrl::emulator {

class Fiber {
 public:
  // The stack of whoever runs now.
  Fiber() {
#if defined(__SANITIZE_THREAD__)
    sanitizer_ = __tsan_get_current_fiber();
#endif
  }
  explicit Fiber(void (*entry)()) : entry_(entry), memory_(new char[kStackBytes]) {
#if defined(__SANITIZE_THREAD__)
    sanitizer_ = __tsan_create_fiber(0);
    other_ = __tsan_create_fiber(0);
    other_memory_.reset(new char[kStackBytes]);
    is_owner_ = true;
#endif
  }
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;
  ~Fiber() {
#if defined(__SANITIZE_THREAD__)
    if (!is_owner_) return;
    __tsan_destroy_fiber(sanitizer_);
    __tsan_destroy_fiber(other_);
#endif
  }

  // The next switch begins at the entry again, and is another thread than the last time: what a block writes after
  // another that nothing orders is a race.
  void rewind() {
#if defined(__SANITIZE_THREAD__)
    std::swap(sanitizer_, other_);
    std::swap(memory_, other_memory_);  // a stack has one thread
#endif
#if defined(__SANITIZE_ADDRESS__)
    __asan_unpoison_memory_region(memory_.get(), kStackBytes);  // frames of a thread that never returned
#endif
    const auto end = reinterpret_cast<uintptr_t>(memory_.get() + kStackBytes) & ~uintptr_t{15};
    auto** top = reinterpret_cast<void**>(end);
#if defined(__x86_64__)
    *--top = nullptr;  // as after a call: the stack is 8 off a multiple of 16
    *--top = reinterpret_cast<void*>(entry_);
    for (int i = 0; i < 6; ++i) *--top = nullptr;
#else
    for (int i = 0; i < 20; ++i) *--top = nullptr;
    top[19] = reinterpret_cast<void*>(entry_);  // x30
#endif
    stack_ = top;
  }

  SEEKRL_OWN_BUSINESS void switch_to(Fiber& to) {
#if defined(__SANITIZE_THREAD__)
    __tsan_switch_to_fiber(to.sanitizer_, __tsan_switch_to_fiber_no_sync);
#endif
    seekrl_switch_stack(&stack_, to.stack_);
  }

 private:
  static constexpr size_t kStackBytes = 1 << 16;

  void (*entry_)() = nullptr;
  std::unique_ptr<char[]> memory_;
  void* stack_ = nullptr;
#if defined(__SANITIZE_THREAD__)
  void *sanitizer_ = nullptr, *other_ = nullptr;
  std::unique_ptr<char[]> other_memory_;
  bool is_owner_ = false;
#endif
};

// The same for a scope and all that it calls.
class OwnBusiness {
 public:
#if defined(__SANITIZE_THREAD__)
  OwnBusiness() {
    AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
    AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
  }
  ~OwnBusiness() {
    AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
    AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
  }
#else
  OwnBusiness() {}
#endif
  OwnBusiness(const OwnBusiness&) = delete;
  OwnBusiness& operator=(const OwnBusiness&) = delete;
};

// What happened before `leave(at)` happened before what follows `pass(at)`.
inline void leave([[maybe_unused]] void* at) {
#if defined(__SANITIZE_THREAD__)
  __tsan_release(at);
#endif
}
inline void pass([[maybe_unused]] void* at) {
#if defined(__SANITIZE_THREAD__)
  __tsan_acquire(at);
#endif
}

}  // namespace seekrl::emulator
