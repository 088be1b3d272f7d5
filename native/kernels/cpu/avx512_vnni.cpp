// The products of quantised weights compiled for AVX512-VNNI; CMakeLists.txt gives this file its instruction set.
#if defined(__x86_64__)

#define SEEKRL_ISA avx512_vnni
#include "kernels/cpu/products/fast_quant.h"
#include "kernels/table.h"

#define SEEKRL_VERSION(name) SEEKRL_ISA::name,

namespace seekrl::kernels {

const QuantTable kAvx512VnniTable = {SEEKRL_QUANT_KERNELS(SEEKRL_VERSION)};

}  // namespace seekrl::kernels

#endif
