// The kernels of one instruction set.
#pragma once

#include "kernels/adamw.h"
#include "kernels/attention.h"
#include "kernels/logprob.h"
#include "kernels/products/bf16.h"
#include "kernels/products/matmul.h"
#include "kernels/products/packed.h"
#include "kernels/products/quant.h"
#include "kernels/rows.h"
#include "kernels/sampling.h"

namespace seekrl::kernels {

// Every kernel, by its name in `reference` and in the namespace of each instruction set.
#define SEEKRL_KERNELS(each)                                                                                           \
  each(attend) each(attend_backward) each(matmul) each(row_stats) each(row_backward) each(row_weights) each(kept_sums) \
      each(keep_between) each(packed_matmul) each(add_layer_norm) each(gelu) each(rms_norm) each(rms_norm_backward)    \
          each(rope) each(silu_mul) each(silu_mul_backward) each(gelu_mul) each(gelu_mul_backward) each(softcap)       \
              each(transpose) each(adamw)
// Those of bf16, for which there is one instruction set more.
#define SEEKRL_BF16_KERNELS(each) each(attend_bf16) each(few_matmul) each(pair_matmul) each(round_to_bf16)
// Those of quantised weights; AVX-512 serves them with VNNI only.
#define SEEKRL_QUANT_KERNELS(each) each(quant_row) each(quant_matmul) each(codes_to_bf16) each(nf4_to_bf16)

#define SEEKRL_SLOT(name) decltype(&reference::name) name;
struct KernelTable {
  SEEKRL_KERNELS(SEEKRL_SLOT)
};
struct Bf16Table {
  SEEKRL_BF16_KERNELS(SEEKRL_SLOT)
};
struct QuantTable {
  SEEKRL_QUANT_KERNELS(SEEKRL_SLOT)
};
#undef SEEKRL_SLOT

extern const KernelTable kPlainTable;
#if defined(__x86_64__)
extern const Bf16Table kAvx2Bf16Table;
extern const Bf16Table kAvx512WidenedTable;
extern const Bf16Table kAvx512Bf16Table;
extern const Bf16Table kAmxBf16Table;
extern const QuantTable kAvx2QuantTable;
extern const QuantTable kAvx512VnniTable;
extern const KernelTable kAvx2Table;
extern const KernelTable kAvx512Table;
#endif

}  // namespace seekrl::kernels
