// A thread eight neighbours.
#include "kernels/cuda/launch.h"
#include "kernels/cuda/layer/gate.h"
#include "kernels/cuda/number.h"

namespace seekrl::cuda {

namespace {

constexpr Status kRefusal = "gate: expected numbers of 16 bits";
constexpr Status kMisaligned = "gate: expected multiples of 16 bytes";
constexpr int kGateThreads = 256;

__device__ __forceinline__ float sigmoid(float x) { return 1.0f / (1.0f + __expf(-x)); }

// A gate's value and its derivative.
__device__ __forceinline__ float2 gate_of(Gate gate, float x) {
  if (gate == Gate::kSilu) {
    const float s = sigmoid(x);
    return {x * s, s * (1.0f + x * (1.0f - s))};
  }
  // 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))
  constexpr float kScale = 0.7978845608028654f, kCubic = 0.044715f;
  const float t = tanhf(kScale * (x + kCubic * x * x * x));
  return {0.5f * x * (1.0f + t),
          0.5f * (1.0f + t) + 0.5f * x * (1.0f - t * t) * kScale * (1.0f + 3.0f * kCubic * x * x)};
}

// The row and first column of a thread's eight neighbours; false past the end.
__device__ __forceinline__ bool place_of(int64_t num_rows, int64_t width, int64_t& row, int64_t& column) {
  const int64_t i = (int64_t{blockIdx.x} * kGateThreads + threadIdx.x) * 8;
  row = i / width;
  column = i % width;
  return row < num_rows;
}

template <class Number>
__global__ void __launch_bounds__(kGateThreads) gate_mul_eights(GateMul call) {
  int64_t row, c;
  if (!place_of(call.num_rows, call.width, row, c)) return;
  float gate[8], up[8];
  load_8(gate, static_cast<const Number*>(call.gate_TI) + row * call.stride + c);
  load_8(up, static_cast<const Number*>(call.up_TI) + row * call.stride + c);
#pragma unroll
  for (int j = 0; j < 8; ++j) up[j] *= gate_of(call.gate, gate[j]).x;
  store_8(static_cast<Number*>(call.out_TI) + row * call.width + c, up);
}

template <class Number>
__global__ void __launch_bounds__(kGateThreads) gate_mul_gradient_eights(GateMulGradient call) {
  int64_t row, c;
  if (!place_of(call.num_rows, call.width, row, c)) return;
  float gate[8], up[8], grad[8];
  load_8(gate, static_cast<const Number*>(call.gate_TI) + row * call.stride + c);
  load_8(up, static_cast<const Number*>(call.up_TI) + row * call.stride + c);
  load_8(grad, static_cast<const Number*>(call.out_grad_TI) + row * call.width + c);
#pragma unroll
  for (int j = 0; j < 8; ++j) {
    const float2 value = gate_of(call.gate, gate[j]);
    gate[j] = grad[j] * up[j] * value.y;
    up[j] = grad[j] * value.x;
  }
  store_8(static_cast<Number*>(call.gate_grad_TI) + row * call.stride + c, gate);
  store_8(static_cast<Number*>(call.up_grad_TI) + row * call.stride + c, up);
}

// Launches a kernel with a thread for every eight neighbours.
template <class Call>
Status launch_eights(void (*kernel)(Call), const Call& call, void* stream) {
  if (call.width % 8 != 0 || call.stride % 8 != 0) return "gate: expected a width and a stride that are multiples of 8";
  const unsigned num_blocks = blocks_of(call.num_rows * call.width, kGateThreads * 8);
  return launch(kernel, dim3(num_blocks), dim3(kGateThreads), 0, stream, call);
}

}  // namespace

Status gate_mul(const GateMul& call, void* stream) {
  if (call.num_rows == 0) return nullptr;
  if (!are_aligned({call.out_TI, call.gate_TI, call.up_TI})) return kMisaligned;
  return with_number(call.dtype, kRefusal,
                     [&]<class Number>() { return launch_eights(&gate_mul_eights<Number>, call, stream); });
}

Status gate_mul_gradient(const GateMulGradient& call, void* stream) {
  if (call.num_rows == 0) return nullptr;
  if (!are_aligned({call.gate_grad_TI, call.up_grad_TI, call.out_grad_TI, call.gate_TI, call.up_TI}))
    return kMisaligned;
  return with_number(call.dtype, kRefusal,
                     [&]<class Number>() { return launch_eights(&gate_mul_gradient_eights<Number>, call, stream); });
}

}  // namespace seekrl::cuda
