// The products of bf16 compiled for AVX512-BF16; CMakeLists.txt gives this file its instruction set.
#if defined(__x86_64__)

#define SEEKRL_ISA avx512_bf16
#include "kernels/cpu/fast_bf16.h"
#include "kernels/table.h"

#define SEEKRL_VERSION(name) SEEKRL_ISA::name,

namespace seekrl::kernels {

const Bf16Table kAvx512Bf16Table = {SEEKRL_BF16_KERNELS(SEEKRL_VERSION)};

}  // namespace seekrl::kernels

#endif
