// NVIDIA's matrix products, to compare with: opened while it runs, because its headers need not be there.
#pragma once

#include "device.h"

namespace seekrl::bench {

// out [M, N] = x [M, K] w [N, K]^T of bf16 with f32 sums, by the kernel that the library's heuristics put first. Throws
// where the library is not found: SEEKRL_CUBLASLT names its file.
Launch cublaslt_product(Memory& memory, void* out, const void* x, const void* w, int64_t m, int64_t n, int64_t k);

}  // namespace seekrl::bench
