// glibc's thresholds; a threshold that was set is not adapted any more, so its bounds stand for what it adapts to.
#include "train/zero/returned_memory.h"

#include "base/platform/system_calls.h"

namespace seekrl::train {

namespace {

constexpr int kLarge = 1 << 20, kMostMapped = 32 << 20, kMostIdle = 2 * kMostMapped;

int depth = 0;

}  // namespace

ReturnedMemory::ReturnedMemory() {
  if (depth++ == 0) set_mapped_threshold(kLarge);
}

ReturnedMemory::~ReturnedMemory() {
  if (--depth > 0) return;
  set_mapped_threshold(kMostMapped);
  set_trim_threshold(kMostIdle);
}

void return_idle_memory() { trim_heap(); }

}  // namespace seekrl::train
