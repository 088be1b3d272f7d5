// The fast kernels compiled for AVX-512; CMakeLists.txt gives this file its instruction set.
#if defined(__x86_64__)

#define SEEKRL_ISA avx512
#include "kernels/fast_attention.h"
#include "kernels/fast_bf16.h"
#include "kernels/fast_matmul.h"
#include "kernels/fast_rows.h"
#include "kernels/table.h"

namespace seekrl::kernels {

const KernelTable kAvx512Table = {
    avx512::attend,
    avx512::attend_backward,
    avx512::matmul,
    avx512::row_stats,
    avx512::row_backward,
    avx512::packed_matmul,
    avx512::add_layer_norm,
    avx512::gelu,
    avx512::rms_norm,
    avx512::rms_norm_backward,
    avx512::rope,
    avx512::silu_mul,
    avx512::silu_mul_backward,
};

const Bf16Table kAvx512WidenedTable = {avx512::packed_matmul_bf16, avx512::to_bf16};

}  // namespace seekrl::kernels

#endif
