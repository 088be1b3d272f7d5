// An allocator before libtorch's own, which takes the large blocks of the threads that ask for it.
#include "ops/activation_memory.h"

#include <c10/core/CPUAllocator.h>

#include <mutex>

#include "base/arena.h"
#include "base/idle_memory.h"
#include "base/pages.h"

namespace seekrl::ops {

namespace {

// What is smaller is malloc's to keep, which does so by itself.
constexpr size_t kLarge = size_t{1} << 16;

// What is less than this is kept between trainings: clearing it for each of a small model's steps takes a tenth of
// them.
constexpr size_t kWorthGivingBack = size_t{1} << 28;

thread_local bool is_active = false;

class ActivationAllocator : public c10::Allocator {
 public:
  // As many addresses as the machine has memory.
  explicit ActivationAllocator(c10::Allocator* other) : other_(other), arena_(memory_bytes()) {}

  c10::DataPtr allocate(size_t num_bytes) override {
    void* const block = is_active && num_bytes >= kLarge ? arena_.allocate(num_bytes) : nullptr;
    if (block == nullptr) return other_->allocate(num_bytes);
    return {block, block, &ActivationAllocator::free, c10::Device(c10::kCPU)};
  }
  // For either kind of block.
  c10::DeleterFnPtr raw_deleter() const override { return &ActivationAllocator::free; }
  void copy_data(void* to, const void* from, size_t count) const override { other_->copy_data(to, from, count); }

  // Never destroyed: tensors may outlive every static.
  static ActivationAllocator& instance() {
    static auto* const allocator = new ActivationAllocator(c10::GetCPUAllocator());
    return *allocator;
  }

 private:
  static void free(void* block) {
    ActivationAllocator& allocator = instance();
    if (allocator.arena_.holds(block)) return allocator.arena_.free(block);
    allocator.other_->raw_deleter()(block);
  }

  c10::Allocator* other_;
  Arena arena_;
  IdleMemory idle_{Work::kTrain, [this] { arena_.release(kWorthGivingBack); }};
};

void install() {
  static std::once_flag once;
  std::call_once(once, [] { c10::SetCPUAllocator(&ActivationAllocator::instance(), 1); });
}

}  // namespace

ActivationScope::ActivationScope() : was_active_(is_active) {
  install();
  is_active = true;
}

ActivationScope::~ActivationScope() { is_active = was_active_; }

}  // namespace seekrl::ops
