// What the library's functions are told in and answer; no CUDA header is needed to call them.
#pragma once

#include <cstdint>

namespace seekrl::cuda {

// What a launch answers: null, or what went wrong in words that live until the thread's next call.
using Status = const char*;

enum class Dtype : int32_t { kFloat, kBf16, kF16 };

}  // namespace seekrl::cuda
