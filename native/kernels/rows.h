// Row-wise and elementwise kernels of decoder and encoder; f32, CPU. A row's result depends on that row alone.
#pragma once

#include <cstdint>

#include "kernels/kernel.h"

namespace seekrl::kernels {

// y_MD = x_MD * scale_m * weight_D, scale_m = 1 / sqrt(mean_d x^2 + eps): 16 sums by d mod 16, added in a fixed tree.
// scale_M: may be null. Reads and writes M D floats.
namespace reference {
void rms_norm(float* y_MD, float* scale_M, const float* x_MD, const float* weight_D, int64_t m, int64_t d, float eps);
}
SEEKRL_KERNEL(rms_norm);

// With g = y_grad * weight: x_grad_MD = scale (g - x scale^2 mean_d(g x)); weight_grad_D += sum_m y_grad x scale.
namespace reference {
void rms_norm_backward(float* x_grad_MD, float* weight_grad_D, const float* y_grad_MD, const float* x_MD,
                       const float* scale_M, const float* weight_D, int64_t m, int64_t d);
}
SEEKRL_KERNEL(rms_norm_backward);

// Rotates pairs (f, f + F) of each of the T x H vectors by the position's angle, and copies what stands behind 2 F: see
// ops/rope.h. A backward pass turns the other way: `sign` is 1 or -1 and multiplies the sine. y may be x.
namespace reference {
void rope(float* y_THC, const float* x_THC, const float* cos_TF, const float* sin_TF, int64_t t, int64_t h, int64_t c,
          int64_t num_frequencies, float sign);
}
SEEKRL_KERNEL(rope);

// With z = x + residual (null: x): y_MD = (z - mean) / sqrt(mean((z - mean)^2) + eps) * weight_D + bias_D; sums as in
// rms_norm. y may be x or residual. Reads and writes 3 M D floats.
namespace reference {
void add_layer_norm(float* y_MD, const float* x_MD, const float* residual_MD, const float* weight_D,
                    const float* bias_D, int64_t m, int64_t d, float eps);
}
SEEKRL_KERNEL(add_layer_norm);

// y = x (1 + erf(x / sqrt(2))) / 2 over n elements, as max(x, 0) - |x| erfc(|x| / sqrt(2)) / 2; erfc by formula 7.1.26
// of Abramowitz and Stegun, at most 1.5e-7 off. y may be x.
namespace reference {
void gelu(float* y, const float* x, int64_t n);
}
SEEKRL_KERNEL(gelu);

inline constexpr float kErfScale = 0.3275911f * 0.70710678118654752f;
inline constexpr float kErfPolynomial[] = {1.061405429f, -1.453152027f, 1.421413741f, -0.284496736f, 0.254829592f};

// to[column * to_stride + row] = from[row * from_stride + column] for M rows of N columns. What stands in `to` behind
// the M rows of a column, up to the next multiple of 16, becomes zero.
namespace reference {
void transpose(float* to, int64_t to_stride, const float* from, int64_t from_stride, int64_t m, int64_t n);
}
SEEKRL_KERNEL(transpose);

// y = gate / (1 + exp(-gate)) * up over n elements.
namespace reference {
void silu_mul(float* y, const float* gate, const float* up, int64_t n);
}
SEEKRL_KERNEL(silu_mul);

// With s = 1 / (1 + exp(-gate)): gate_grad = y_grad up s (1 + gate (1 - s)), up_grad = y_grad gate s.
namespace reference {
void silu_mul_backward(float* gate_grad, float* up_grad, const float* y_grad, const float* gate, const float* up,
                       int64_t n);
}
SEEKRL_KERNEL(silu_mul_backward);

// y = gelu(gate) * up over n elements, gelu in its form with tanh: x / (1 + exp(-2 sqrt(2 / pi) (x + 0.044715 x^3))).
namespace reference {
void gelu_mul(float* y, const float* gate, const float* up, int64_t n);
}
SEEKRL_KERNEL(gelu_mul);

inline constexpr float kGeluLinear = 2.0f * 0.797884560802865356f;
inline constexpr float kGeluCubic = kGeluLinear * 0.044715f;

// With v = gate (linear + cubic gate^2) and s = 1 / (1 + exp(-v)): gate_grad = y_grad up s (1 + gate v' (1 - s)),
// up_grad = y_grad gate s.
namespace reference {
void gelu_mul_backward(float* gate_grad, float* up_grad, const float* y_grad, const float* gate, const float* up,
                       int64_t n);
}
SEEKRL_KERNEL(gelu_mul_backward);

// x becomes cap tanh(x / cap), over n elements.
namespace reference {
void softcap(float* x, int64_t n, float cap);
}
SEEKRL_KERNEL(softcap);

}  // namespace seekrl::kernels
