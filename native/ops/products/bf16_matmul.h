// Products of f32 activations, rounded to bf16, with bf16 weights as they are stored; sums and results are f32. CPU.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace seekrl::ops {

// M rows of K values in bf16, `stride` values apart; what stands between an odd K and the even stride is zero.
struct Bf16Rows {
  const uint16_t* data = nullptr;
  int64_t m = 0, k = 0, stride = 0;
};

// The values of a contiguous bf16 tensor.
inline const uint16_t* bits_of(const at::Tensor& weight) {
  return static_cast<const uint16_t*>(weight.const_data_ptr());
}

// x_MK, f32, rounded into a new tensor of rows, [M, K rounded up to even]; see bf16_rows.
at::Tensor rounded_rows(const at::Tensor& x_MK);
Bf16Rows bf16_rows(const at::Tensor& rounded, int64_t k);

// The same into this thread's memory, valid until its next call. x: rows of K floats, x_stride apart.
Bf16Rows round_rows(const float* x, int64_t x_stride, int64_t m, int64_t k, int num_helpers);

enum class Activation { kNone, kGelu };

// y_MN = activation(x_MK weight_NK^T + bias_N); bias_N may be null, rows of y are y_stride floats apart. A row's result
// depends on that row alone.
void bf16_linear(float* y_MN, int64_t y_stride, const Bf16Rows& x_MK, const uint16_t* weight_NK, int64_t n,
                 const float* bias_N, Activation activation, int num_helpers);

// The same bits with x laid out in panels of columns, as a matrix unit takes it: what bf16_linear does where the
// processor has one, and elsewhere with up to 64 rows that are not few. K is even.
void bf16_linear_by_panels(float* y_MN, int64_t y_stride, const Bf16Rows& x_MK, const uint16_t* weight_NK, int64_t n,
                           const float* bias_N, Activation activation, int num_helpers);

// x_grad_MK = y_grad_MN weight_NK.
void bf16_input_grad(float* x_grad_MK, const Bf16Rows& y_grad_MN, const uint16_t* weight_NK, int64_t k,
                     int num_helpers);

// weight_grad_NK += y_grad_MN^T x_MK.
void bf16_weight_grad(float* weight_grad_NK, const Bf16Rows& y_grad_MN, const Bf16Rows& x_MK, int num_helpers);

}  // namespace seekrl::ops
