// The emulated GPU's memory, and the host's that it copies from and to while the host goes on.
#pragma once

#include <ATen/core/CachingHostAllocator.h>
#include <c10/core/Allocator.h>

namespace seekrl::emulator {

constexpr auto kType = c10::DeviceType::PrivateUse1;

// New memory is NaN in every format, and so is what was freed: what reads before it writes, or too late, is seen. Freed
// in the order of the stream; what was made while a graph was captured, with its pool.
c10::Allocator& device_memory();
at::HostAllocator& pinned_memory();
bool is_pinned(const void* pointer);

}  // namespace seekrl::emulator
