// When an op takes the project's CPU kernels rather than a composition of ATen ops.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/GradMode.h>

namespace seekrl::ops {

template <class... Tensors>
bool is_cpu_f32(const Tensors&... tensors) {
  return ((!tensors.defined() || (tensors.device().is_cpu() && tensors.scalar_type() == at::kFloat)) && ...);
}

// Whether x is f32 and the weight bf16, both on the CPU: how a model of bf16 computes there.
inline bool is_cpu_bf16(const at::Tensor& x, const at::Tensor& weight) {
  return is_cpu_f32(x) && weight.device().is_cpu() && weight.scalar_type() == at::kBFloat16;
}

// Whether the result must remember how it was made.
template <class... Tensors>
bool needs_grad(const Tensors&... tensors) {
  return c10::GradMode::is_enabled() && ((tensors.defined() && tensors.requires_grad()) || ...);
}

}  // namespace seekrl::ops
