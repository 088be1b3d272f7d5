// What low-rank adapters add to a product on a GPU.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace seekrl::ops {

// What the kernel is told of a batch's rows and one projection, on the GPU; kernels/cuda/product/low_rank.h.
struct GpuLowRank {
  at::Tensor pairs_A;  // cuda::LowRankPair of each adapter, as bytes
  int64_t max_rank = 0;
  at::Tensor start_G, adapter_G;  // i32 [G + 1], [G]
};

// An adapter's numbers in one projection as products read them: 16 bits, ranks filled up with zeros to a multiple of 8.
struct GpuPair {
  at::Tensor down_RK, up_NR;
  double scale = 0;
};

// y_MN, of 16 bits or f32, += what the rows' adapters add to the product of x_MK, in one call for all of them; without
// gradients.
void gpu_add_low_rank(const at::Tensor& y_MN, const at::Tensor& x_MK, const GpuLowRank& adapters);

// The same with gradients, where all rows have one adapter, whose numbers are `pair`: overwrites y and returns it,
// differentiable in y, x and the f32 numbers A and B that the pair was rounded from.
at::Tensor gpu_add_low_rank(at::Tensor y_MN, const at::Tensor& x_MK, const GpuLowRank& adapters, const GpuPair& pair,
                            const at::Tensor& down_RK, const at::Tensor& up_NR);

}  // namespace seekrl::ops
