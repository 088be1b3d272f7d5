// What a GPU does to rows between products. The residual stream is f32, what enters and leaves products has 16 bits.
#pragma once

#include <ATen/core/Tensor.h>

#include "kernels/cuda/layer/gate.h"
#include "kernels/cuda/layer/norm.h"

namespace seekrl::ops {

struct GpuNormed {
  at::Tensor sum;     // f32: x itself where nothing is added
  at::Tensor normed;  // in the weight's dtype
};

// x: f32 [..., D]; added: like it in the weight's dtype, or undefined. As cuda::add_norm, with gradients.
GpuNormed gpu_add_norm(const at::Tensor& x, const at::Tensor& added, const at::Tensor& weight_D, double eps,
                       double offset);
// The norm alone, of x in f32 or in the weight's dtype.
at::Tensor gpu_norm(const at::Tensor& x, const at::Tensor& weight_D, double eps, double offset);

// gate and up: [T, I] of 16 bits. As cuda::gate_mul, with gradients.
at::Tensor gpu_gate_mul(const at::Tensor& gate_TI, const at::Tensor& up_TI, cuda::Gate gate);

}  // namespace seekrl::ops
