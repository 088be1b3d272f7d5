// The pools of the emulated GPU's graphs.
#pragma once

#include "device/stream.h"

namespace seekrl::emulator {

// Of what is allocated on the stream now; null where that is not for a graph.
KeptMemory* pool_of(void* stream);

}  // namespace seekrl::emulator
