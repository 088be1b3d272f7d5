// glibc's thresholds; a threshold that was set is not adapted any more, so its bounds stand for what it adapts to.
#include "train/zero/returned_memory.h"

#include <malloc.h>

namespace seekrl::train {

namespace {

constexpr int kLarge = 1 << 20, kMostMapped = 32 << 20, kMostIdle = 2 * kMostMapped;

int depth = 0;

}  // namespace

ReturnedMemory::ReturnedMemory() {
  if (depth++ == 0) mallopt(M_MMAP_THRESHOLD, kLarge);
}

ReturnedMemory::~ReturnedMemory() {
  if (--depth > 0) return;
  mallopt(M_MMAP_THRESHOLD, kMostMapped);
  mallopt(M_TRIM_THRESHOLD, kMostIdle);
}

void return_idle_memory() { malloc_trim(0); }

}  // namespace seekrl::train
