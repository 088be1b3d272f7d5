// y = act(x W^T + b) with a weight packed once: what a model does that only reads its weights; CPU, f32 and bf16.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace seekrl::ops {

enum class Activation { kNone, kGelu };

// Memory that calls reuse.
struct PackedScratch {
  std::vector<uint16_t> rounded;
};

// Runs body(item) for each item of [0, num_items) on this thread and at most num_helpers of the process's claim pool;
// on this thread alone when `work` (multiply-adds, all items together) is too little to share.
void share_items(int64_t num_items, int num_helpers, int64_t work, const std::function<void(int64_t)>& body);

class PackedLinear {
 public:
  PackedLinear() = default;
  // weight_NK, f32 or bf16, decides the arithmetic: bf16 rounds x and multiplies bf16 with f32 sums (K even). bias_N of
  // any dtype is kept as f32; may be undefined.
  PackedLinear(const at::Tensor& weight_NK, const at::Tensor& bias_N);

  // y: M rows of N floats, y_stride apart; x: M rows of K floats. A row's result does not depend on the others.
  void apply(float* y, int64_t y_stride, const float* x, int64_t x_stride, int64_t m, Activation activation,
             int num_helpers, PackedScratch& scratch) const;

  int64_t out_width() const { return n_; }
  int64_t in_width() const { return k_; }

 private:
  int64_t n_ = 0, k_ = 0;
  std::unique_ptr<float[]> packed_;
  std::unique_ptr<uint16_t[]> packed_bf16_;  // one of the two
  std::vector<float> bias_;                  // empty without bias
};

}  // namespace seekrl::ops
