// The fast kernels compiled for AVX-512; CMakeLists.txt gives this file its instruction set.
#if defined(__x86_64__)

#define SEEKRL_ISA avx512
#include "kernels/fast_attention.h"
#include "kernels/fast_matmul.h"
#include "kernels/fast_rows.h"
#include "kernels/table.h"

namespace seekrl::kernels {

const KernelTable kAvx512Table = {
    avx512::attend,   avx512::attend_backward,   avx512::matmul, avx512::row_stats, avx512::row_backward,
    avx512::rms_norm, avx512::rms_norm_backward, avx512::rope,   avx512::silu_mul,  avx512::silu_mul_backward,
};

}  // namespace seekrl::kernels

#endif
