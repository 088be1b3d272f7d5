// Scratch memory grows to the largest request and lives as long as its thread.
#include "ops/kernel_path.h"

#include <memory>

namespace seekrl::ops {

float* scratch(int64_t floats) {
  thread_local std::unique_ptr<float[]> memory;
  thread_local int64_t size = 0;
  if (floats > size) {
    memory.reset();
    memory = std::make_unique_for_overwrite<float[]>(static_cast<size_t>(floats));
    size = floats;
  }
  return memory.get();
}

}  // namespace seekrl::ops
