// A card's memory as libtorch's allocator of it keeps it.
#pragma once

#include <ATen/core/Tensor.h>

namespace seekrl::ops {

// Gives what the allocator keeps for later back to the card. Nothing on the CPU.
void release_cached(at::Device device);

}  // namespace seekrl::ops
