// The gate of the feed-forward, forward and backward. All pointers are at multiples of 16 bytes.
#pragma once

#include <cstdint>

#include "kernels/cuda/status.h"

namespace seekrl::cuda {

enum class Gate : int32_t { kSilu, kGeluTanh };

struct GateMul {
  void* out_TI;         // in dtype
  const void* gate_TI;  // in dtype, rows `stride` values apart
  const void* up_TI;
  int64_t num_rows, width, stride;  // width and stride: multiples of 8
  Gate gate;
  Dtype dtype;
};

// out = gate(gate_TI) up, in f32, rounded once.
Status gate_mul(const GateMul& call, void* stream);

struct GateMulGradient {
  void* gate_grad_TI;  // rows `stride` values apart, like gate and up
  void* up_grad_TI;
  const void* out_grad_TI;
  const void* gate_TI;
  const void* up_TI;
  int64_t num_rows, width, stride;
  Gate gate;
  Dtype dtype;
};

// gate_grad = out_grad up gate'(gate), up_grad = out_grad gate(gate).
Status gate_mul_gradient(const GateMulGradient& call, void* stream);

}  // namespace seekrl::cuda
