// The gate: our kernels on the CPU and on a GPU, a composition of ATen ops elsewhere.
#include "ops/elementwise/gate_mul.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/silu.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>

#include "base/error.h"
#include "kernels/rows.h"
#include "ops/gpu/gpu.h"
#include "ops/gpu/layer.h"
#include "ops/kernel_path.h"
#include "ops/parallel.h"

namespace seekrl::ops {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// Calls body(first, count) for blocks of elements; an exponential costs about as much as 16 multiply-adds.
template <class Body>
void for_blocks(int64_t size, const Body& body) {
  constexpr int64_t kBlock = 8192;
  claim_items((size + kBlock - 1) / kBlock, size * 16,
              [&](int64_t block) { body(block * kBlock, std::min(kBlock, size - block * kBlock)); });
}

struct Silu {
  static constexpr auto kOnGpu = cuda::Gate::kSilu;
  static constexpr auto forward = kernels::silu_mul;
  static constexpr auto backward = kernels::silu_mul_backward;
  static at::Tensor compose(const at::Tensor& gate) { return at::silu(gate); }
};

struct Gelu {
  static constexpr auto kOnGpu = cuda::Gate::kGeluTanh;
  static constexpr auto forward = kernels::gelu_mul;
  static constexpr auto backward = kernels::gelu_mul_backward;
  static at::Tensor compose(const at::Tensor& gate) { return at::gelu(gate, "tanh"); }
};

template <class Curve>
at::Tensor forward_cpu(const at::Tensor& gate, const at::Tensor& up) {
  at::Tensor y = at::empty_like(gate);
  float* to = y.mutable_data_ptr<float>();
  const float *gate_data = gate.const_data_ptr<float>(), *up_data = up.const_data_ptr<float>();
  for_blocks(gate.numel(), [&](int64_t first, int64_t count) {
    Curve::forward(to + first, gate_data + first, up_data + first, count);
  });
  return y;
}

template <class Curve>
class GateFunction : public torch::autograd::Function<GateFunction<Curve>> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& gate, const at::Tensor& up) {
    context->save_for_backward({gate, up});
    return forward_cpu<Curve>(gate, up);
  }

  static variable_list backward(AutogradContext* context, variable_list grads) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor y_grad = grads[0].contiguous();
    at::Tensor gate_grad = at::empty_like(saved[0]), up_grad = at::empty_like(saved[1]);
    float *gate_to = gate_grad.mutable_data_ptr<float>(), *up_to = up_grad.mutable_data_ptr<float>();
    const float *grad = y_grad.const_data_ptr<float>(), *gate = saved[0].const_data_ptr<float>(),
                *up = saved[1].const_data_ptr<float>();
    for_blocks(y_grad.numel(), [&](int64_t first, int64_t count) {
      Curve::backward(gate_to + first, up_to + first, grad + first, gate + first, up + first, count);
    });
    return {gate_grad, up_grad};
  }
};

template <class Curve>
at::Tensor gate_mul(const at::Tensor& gate, const at::Tensor& up) {
  require(gate.sizes() == up.sizes(), ErrorCode::kShape, "gate: expected equal shapes, got ", gate.sizes(), " and ",
          up.sizes());
  if (uses_gpu_kernels(gate)) return gpu_gate_mul(gate, up, Curve::kOnGpu);
  if (!is_cpu_f32(gate, up)) return Curve::compose(gate) * up;
  const at::Tensor dense_gate = gate.contiguous(), dense_up = up.contiguous();
  if (!needs_grad(gate, up)) return forward_cpu<Curve>(dense_gate, dense_up);
  return GateFunction<Curve>::apply(dense_gate, dense_up);
}

}  // namespace

at::Tensor silu_mul(const at::Tensor& gate, const at::Tensor& up) { return gate_mul<Silu>(gate, up); }

at::Tensor gelu_mul(const at::Tensor& gate, const at::Tensor& up) { return gate_mul<Gelu>(gate, up); }

}  // namespace seekrl::ops
