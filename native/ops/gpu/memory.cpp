// By the interface that the allocators of all kinds of GPUs have.
#include "ops/gpu/memory.h"

#include <c10/core/CachingDeviceAllocator.h>

namespace seekrl::ops {

void release_cached(at::Device device) {
  if (!device.is_cpu()) c10::getDeviceAllocator(device.type())->emptyCache();
}

GpuMemory memory_of(at::Device device) {
  release_cached(device);
  const c10::DeviceIndex index = device.has_index() ? device.index() : c10::DeviceIndex{0};
  const auto [free, all] = c10::getDeviceAllocator(device.type())->getMemoryInfo(index);
  return {static_cast<int64_t>(free), static_cast<int64_t>(all)};
}

}  // namespace seekrl::ops
