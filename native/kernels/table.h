// The kernels of one instruction set.
#pragma once

#include "kernels/attention.h"
#include "kernels/logprob.h"
#include "kernels/matmul.h"
#include "kernels/rows.h"

namespace seekrl::kernels {

struct KernelTable {
  decltype(&reference::attend) attend;
  decltype(&reference::attend_backward) attend_backward;
  decltype(&reference::matmul) matmul;
  decltype(&reference::row_stats) row_stats;
  decltype(&reference::row_backward) row_backward;
  decltype(&reference::rms_norm) rms_norm;
  decltype(&reference::rms_norm_backward) rms_norm_backward;
  decltype(&reference::rope) rope;
  decltype(&reference::silu_mul) silu_mul;
  decltype(&reference::silu_mul_backward) silu_mul_backward;
};

extern const KernelTable kPlainTable;
#if defined(__x86_64__)
extern const KernelTable kAvx2Table;
extern const KernelTable kAvx512Table;
#endif

}  // namespace seekrl::kernels
