// The fast kernels compiled for AVX2; CMakeLists.txt gives this file its instruction set.
#if defined(__x86_64__)

#define SEEKRL_ISA avx2
#include "kernels/fast_attention.h"
#include "kernels/fast_bf16.h"
#include "kernels/fast_matmul.h"
#include "kernels/fast_rows.h"
#include "kernels/table.h"

namespace seekrl::kernels {

const KernelTable kAvx2Table = {
    avx2::attend,
    avx2::attend_backward,
    avx2::matmul,
    avx2::row_stats,
    avx2::row_backward,
    avx2::packed_matmul,
    avx2::add_layer_norm,
    avx2::gelu,
    avx2::rms_norm,
    avx2::rms_norm_backward,
    avx2::rope,
    avx2::silu_mul,
    avx2::silu_mul_backward,
};

const Bf16Table kAvx2Bf16Table = {avx2::packed_matmul_bf16, avx2::to_bf16};

}  // namespace seekrl::kernels

#endif
