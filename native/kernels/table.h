// The kernels of one instruction set.
#pragma once

#include "kernels/attention.h"
#include "kernels/logprob.h"
#include "kernels/matmul.h"
#include "kernels/packed.h"
#include "kernels/rows.h"

namespace seekrl::kernels {

struct KernelTable {
  decltype(&reference::attend) attend;
  decltype(&reference::attend_backward) attend_backward;
  decltype(&reference::matmul) matmul;
  decltype(&reference::row_stats) row_stats;
  decltype(&reference::row_backward) row_backward;
  decltype(&reference::packed_matmul) packed_matmul;
  decltype(&reference::add_layer_norm) add_layer_norm;
  decltype(&reference::gelu) gelu;
  decltype(&reference::rms_norm) rms_norm;
  decltype(&reference::rms_norm_backward) rms_norm_backward;
  decltype(&reference::rope) rope;
  decltype(&reference::silu_mul) silu_mul;
  decltype(&reference::silu_mul_backward) silu_mul_backward;
};

// The kernels of bf16, for which there is one instruction set more.
struct Bf16Table {
  decltype(&reference::packed_matmul_bf16) packed_matmul;
  void (*to_bf16)(uint16_t* y, const float* x, int64_t n);
};

extern const KernelTable kPlainTable;
#if defined(__x86_64__)
extern const Bf16Table kAvx2Bf16Table;
extern const Bf16Table kAvx512WidenedTable;
extern const Bf16Table kAvx512Bf16Table;
extern const KernelTable kAvx2Table;
extern const KernelTable kAvx512Table;
#endif

}  // namespace seekrl::kernels
