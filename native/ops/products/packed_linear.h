// y = act(x W^T + b) for a model that only reads its weights; CPU. A weight of f32 is laid out once; one of bf16, or a
// quantised one, is read as it is stored.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "ops/products/bf16_matmul.h"
#include "ops/products/weight.h"

namespace seekrl::ops {

class PackedLinear {
 public:
  PackedLinear() = default;
  // weight_NK decides the arithmetic: f32; bf16, which rounds x and multiplies bf16 with f32 sums; or codes
  // (code_linear). bias_N of any dtype is kept as f32; may be undefined.
  PackedLinear(const Weight& weight_NK, const at::Tensor& bias_N);

  // y: M rows of N floats, y_stride apart; x: M rows of K floats. A row's result does not depend on the others.
  void apply(float* y, int64_t y_stride, const float* x, int64_t x_stride, int64_t m, Activation activation,
             int num_helpers) const;

  // y = next(activation(this(x))); hidden: room for M rows of this one's outputs.
  void apply_with(const PackedLinear& next, float* y, int64_t y_stride, const float* x, int64_t x_stride, float* hidden,
                  int64_t m, Activation activation, int num_helpers) const;

 private:
  const float* bias() const { return bias_.empty() ? nullptr : bias_.data(); }

  int64_t n_ = 0, k_ = 0;
  std::unique_ptr<float[]> packed_;
  Weight weight_NK_;         // of bf16 or quantised; one of the two
  std::vector<float> bias_;  // empty without bias
};

}  // namespace seekrl::ops
