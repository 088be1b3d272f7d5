// The fast kernels compiled for AVX2; CMakeLists.txt gives this file its instruction set.
#if defined(__x86_64__)

#define SEEKRL_ISA avx2
#include "kernels/cpu/adamw/fast_adamw.h"
#include "kernels/cpu/attention/fast_attention.h"
#include "kernels/cpu/attention/fast_attention_bf16.h"
#include "kernels/cpu/fast_rows.h"
#include "kernels/cpu/products/fast_bf16.h"
#include "kernels/cpu/products/fast_few_bf16.h"
#include "kernels/cpu/products/fast_matmul.h"
#include "kernels/cpu/products/fast_quant.h"
#include "kernels/table.h"

#define SEEKRL_VERSION(name) SEEKRL_ISA::name,

namespace seekrl::kernels {

const KernelTable kAvx2Table = {SEEKRL_KERNELS(SEEKRL_VERSION)};

const Bf16Table kAvx2Bf16Table = {SEEKRL_BF16_KERNELS(SEEKRL_VERSION)};

const QuantTable kAvx2QuantTable = {SEEKRL_QUANT_KERNELS(SEEKRL_VERSION)};

}  // namespace seekrl::kernels

#endif
