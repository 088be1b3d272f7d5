// y = act(x W^T + b) for a model that only reads its weights; CPU. A weight of f32 is laid out once, one of bf16 is
// read as it is stored.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "ops/products/bf16_matmul.h"

namespace seekrl::ops {

class PackedLinear {
 public:
  PackedLinear() = default;
  // weight_NK, f32 or bf16, decides the arithmetic: bf16 rounds x and multiplies bf16 with f32 sums. bias_N of any
  // dtype is kept as f32; may be undefined.
  PackedLinear(const at::Tensor& weight_NK, const at::Tensor& bias_N);

  // y: M rows of N floats, y_stride apart; x: M rows of K floats. A row's result does not depend on the others.
  void apply(float* y, int64_t y_stride, const float* x, int64_t x_stride, int64_t m, Activation activation,
             int num_helpers) const;

  int64_t out_width() const { return n_; }
  int64_t in_width() const { return k_; }

 private:
  int64_t n_ = 0, k_ = 0;
  std::unique_ptr<float[]> packed_;
  at::Tensor weight_NK_;     // bf16; one of the two
  std::vector<float> bias_;  // empty without bias
};

}  // namespace seekrl::ops
