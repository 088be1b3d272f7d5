// What there is of the GPU itself.
#pragma once

#include <cstdint>

namespace seekrl::cuda {

// Multiprocessors of the current device: how many blocks run side by side at least. A few in the emulator.
int64_t num_processors();

}  // namespace seekrl::cuda
