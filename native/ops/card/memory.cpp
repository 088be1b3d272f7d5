// By the interface that the allocators of all kinds of cards have.
#include "ops/card/memory.h"

#include <c10/core/CachingDeviceAllocator.h>

namespace seekrl::ops {

void release_cached(at::Device device) {
  if (!device.is_cpu()) c10::getDeviceAllocator(device.type())->emptyCache();
}

}  // namespace seekrl::ops
