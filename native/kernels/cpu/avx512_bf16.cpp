// The kernels of bf16 compiled for AVX512-BF16 and AMX; CMakeLists.txt gives this file its instruction set.
#if defined(__x86_64__)

#define SEEKRL_ISA avx512_bf16
#include "kernels/cpu/fast_attention_bf16.h"
#include "kernels/cpu/products/amx.h"
#include "kernels/cpu/products/fast_bf16.h"
#include "kernels/cpu/products/fast_tiles.h"
#include "kernels/table.h"

#define SEEKRL_VERSION(name) SEEKRL_ISA::name,

namespace seekrl::kernels {

const Bf16Table kAvx512Bf16Table = {SEEKRL_BF16_KERNELS(SEEKRL_VERSION)};

// The rest are as fast without the matrix unit.
const Bf16Table kAmxBf16Table = {SEEKRL_ISA::attend_bf16, SEEKRL_ISA::few_matmul, SEEKRL_ISA::pair_columns,
                                 tile_matmul<AmxUnit>, SEEKRL_ISA::round_to_bf16};

}  // namespace seekrl::kernels

#endif
