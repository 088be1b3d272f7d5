// Row-wise and elementwise kernels of the decoder; f32, CPU. A row's result depends on that row alone.
#pragma once

#include <cstdint>

namespace seekrl::kernels {

// y_MD = x_MD * scale_m * weight_D, scale_m = 1 / sqrt(mean_d x^2 + eps): 16 sums by d mod 16, added in a fixed tree.
// scale_M: may be null. Reads and writes M D floats.
void rms_norm(float* y_MD, float* scale_M, const float* x_MD, const float* weight_D, int64_t m, int64_t d, float eps);

// With g = y_grad * weight: x_grad_MD = scale (g - x scale^2 mean_d(g x)); weight_grad_D += sum_m y_grad x scale.
void rms_norm_backward(float* x_grad_MD, float* weight_grad_D, const float* y_grad_MD, const float* x_MD,
                       const float* scale_M, const float* weight_D, int64_t m, int64_t d);

// Rotates pairs (f, f + C / 2) of each of the T x H vectors by the position's angle: see ops/rope.h. A backward pass
// turns the other way: `sign` is 1 or -1 and multiplies the sine. y may be x.
void rope(float* y_THC, const float* x_THC, const float* cos_TF, const float* sin_TF, int64_t t, int64_t h, int64_t c,
          float sign);

// y = gate / (1 + exp(-gate)) * up over n elements.
void silu_mul(float* y, const float* gate, const float* up, int64_t n);

// With s = 1 / (1 + exp(-gate)): gate_grad = y_grad up s (1 + gate (1 - s)), up_grad = y_grad gate s.
void silu_mul_backward(float* gate_grad, float* up_grad, const float* y_grad, const float* gate, const float* up,
                       int64_t n);

namespace reference {
void rms_norm(float* y_MD, float* scale_M, const float* x_MD, const float* weight_D, int64_t m, int64_t d, float eps);
void rms_norm_backward(float* x_grad_MD, float* weight_grad_D, const float* y_grad_MD, const float* x_MD,
                       const float* scale_M, const float* weight_D, int64_t m, int64_t d);
void rope(float* y_THC, const float* x_THC, const float* cos_TF, const float* sin_TF, int64_t t, int64_t h, int64_t c,
          float sign);
void silu_mul(float* y, const float* gate, const float* up, int64_t n);
void silu_mul_backward(float* gate_grad, float* up_grad, const float* y_grad, const float* gate, const float* up,
                       int64_t n);
}  // namespace reference

}  // namespace seekrl::kernels
