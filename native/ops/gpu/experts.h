// A block of experts on a GPU: nothing of it is asked of the host.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "kernels/cuda/layer/gate.h"

namespace seekrl::ops {

// Of T tokens: the A experts of the largest odds and how much each counts, the first the most.
struct GpuChoice {
  at::Tensor weights_TA;  // f32
  at::Tensor chosen_TA;   // i32
};

// logits_TE: of 16 bits or f32. As cuda::choose_experts; the weights are differentiable.
GpuChoice gpu_choose_experts(const at::Tensor& logits_TE, int64_t num_chosen, bool is_normalised);

// What the experts' weights of 16 bits are, by their addresses on the GPU, and their inner width.
struct GpuExperts {
  at::Tensor addresses_3E;  // i64: of gate, up, down
  int64_t inner = 0;

  at::Tensor gate_E() const { return addresses_3E.select(0, 0); }
  at::Tensor up_E() const { return addresses_3E.select(0, 1); }
  at::Tensor down_E() const { return addresses_3E.select(0, 2); }
};

// Of each token the sum over its experts of weight down(f(gate x) up x), without gradients. Bits are those of each
// expert's products alone, of cuda::gate_mul and of sums rounded term by term.
at::Tensor gpu_experts(const at::Tensor& x_TD, const GpuChoice& choice, const GpuExperts& experts, cuda::Gate gate);

}  // namespace seekrl::ops
