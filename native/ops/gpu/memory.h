// A GPU's memory as libtorch's allocator of it keeps it.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace seekrl::ops {

// Gives what the allocator keeps for later back to the GPU. Nothing on the CPU.
void release_cached(at::Device device);

struct GpuMemory {
  int64_t free_bytes, all_bytes;
};

// What is free now, with what the allocator keeps given back first.
GpuMemory memory_of(at::Device device);

}  // namespace seekrl::ops
