// Every kernel written plainly, in the order its header states; the fast ones must give the same bits.
#include <algorithm>
#include <cmath>

#include "kernels/cpu/exp.h"
#include "kernels/cpu/reference_lanes.h"
#include "kernels/logprob.h"
#include "kernels/products/bf16.h"
#include "kernels/products/matmul.h"
#include "kernels/rows.h"
#include "kernels/sampling.h"

namespace seekrl::kernels::reference {

RowStats row_stats(const float* logits, int64_t size, float inverse_temperature) {
  return row_weights(nullptr, logits, size, inverse_temperature);
}

RowStats row_weights(float* weights_V, const float* logits, int64_t size, float inverse_temperature) {
  RowStats stats;
  stats.max = logits[0] * inverse_temperature;
  for (int64_t v = 1; v < size; ++v) stats.max = std::max(stats.max, logits[v] * inverse_temperature);
  double total = 0, weighted_total = 0;
  for (int64_t start = 0; start < size; start += 1024) {
    float lanes[16] = {}, weighted_lanes[16] = {};
    for (int64_t v = start; v < std::min(size, start + 1024); ++v) {
      const float shifted = std::fma(logits[v], inverse_temperature, -stats.max);
      const float e = exp_f32(shifted);
      if (weights_V != nullptr) weights_V[v] = e;
      lanes[v % 16] += e;
      weighted_lanes[v % 16] = std::fma(std::max(shifted, kExpNone), e, weighted_lanes[v % 16]);
    }
    total += sum_lanes(lanes);
    weighted_total += sum_lanes(weighted_lanes);
  }
  stats.log_sum = static_cast<float>(std::log(total));
  stats.entropy = static_cast<float>(std::log(total) - weighted_total / total);
  return stats;
}

void kept_sums(float* sums_B, const float* weights_V, int64_t size, float bound) {
  for (int64_t start = 0; start < size; start += kWeightBlock) {
    float lanes[16] = {};
    for (int64_t v = start; v < std::min(size, start + kWeightBlock); ++v) {
      if (weights_V[v] >= bound) lanes[v % 16] += weights_V[v];
    }
    sums_B[start / kWeightBlock] = sum_lanes(lanes);
  }
}

int64_t keep_between(float* kept, const float* weights_V, int64_t size, float low, float high) {
  int64_t num_kept = 0;
  for (int64_t v = 0; v < size; ++v) {
    if (weights_V[v] >= low && weights_V[v] < high) kept[num_kept++] = weights_V[v];
  }
  return num_kept;
}

void row_backward(float* logits, int64_t size, float inverse_temperature, const RowStats& stats,
                  const RowGradients& gradients) {
  for (int64_t v = 0; v < size; ++v) {
    const float log_p = std::max(std::fma(logits[v], inverse_temperature, -stats.max) - stats.log_sum, kExpNone);
    const float slope = std::fma(gradients.entropy, log_p + stats.entropy, gradients.logprob);
    logits[v] = -(exp_f32(log_p) * slope * inverse_temperature);
  }
  logits[gradients.id] += gradients.logprob * inverse_temperature;
}

void matmul(float* c_MN, int64_t c_stride, const MatrixView& a_MK, const MatrixView& b_KN, int64_t m, int64_t n,
            int64_t k, Start start, const float* bias_N, float* /*scratch*/) {
  for (int64_t row = 0; row < m; ++row) {
    for (int64_t column = 0; column < n; ++column) {
      float& c = c_MN[row * c_stride + column];
      float sum = start == Start::kSelf ? c : start == Start::kBias ? bias_N[column] : 0.0f;
      for (int64_t i = 0; i < k; ++i) {
        sum = std::fma(a_MK.data[row * a_MK.row_stride + i * a_MK.column_stride],
                       b_KN.data[i * b_KN.row_stride + column * b_KN.column_stride], sum);
      }
      c = sum;
    }
  }
}

void rms_norm(float* y_MD, float* scale_M, const float* x_MD, const float* weight_D, int64_t m, int64_t d, float eps) {
  for (int64_t row = 0; row < m; ++row) {
    const float* x = x_MD + row * d;
    float lanes[16] = {};
    for (int64_t i = 0; i < d; ++i) lanes[i % 16] = std::fma(x[i], x[i], lanes[i % 16]);
    const float scale = 1.0f / std::sqrt(sum_lanes(lanes) / static_cast<float>(d) + eps);
    for (int64_t i = 0; i < d; ++i) y_MD[row * d + i] = x[i] * scale * weight_D[i];
    if (scale_M != nullptr) scale_M[row] = scale;
  }
}

void rms_norm_backward(float* x_grad_MD, float* weight_grad_D, const float* y_grad_MD, const float* x_MD,
                       const float* scale_M, const float* weight_D, int64_t m, int64_t d) {
  for (int64_t row = 0; row < m; ++row) {
    const float *x = x_MD + row * d, *y_grad = y_grad_MD + row * d;
    const float scale = scale_M[row];
    float lanes[16] = {};
    for (int64_t i = 0; i < d; ++i) lanes[i % 16] = std::fma(y_grad[i] * weight_D[i], x[i], lanes[i % 16]);
    const float shared = sum_lanes(lanes) / static_cast<float>(d) * scale * scale;
    for (int64_t i = 0; i < d; ++i) {
      x_grad_MD[row * d + i] = std::fma(-x[i], shared, y_grad[i] * weight_D[i]) * scale;
      weight_grad_D[i] = std::fma(y_grad[i], x[i] * scale, weight_grad_D[i]);
    }
  }
}

void rope(float* y_THC, const float* x_THC, const float* cos_TF, const float* sin_TF, int64_t t, int64_t h, int64_t c,
          int64_t num_frequencies, float sign) {
  const int64_t half = num_frequencies;
  for (int64_t row = 0; row < t * h; ++row) {
    const float *cos = cos_TF + row / h * half, *sin = sin_TF + row / h * half;
    for (int64_t f = 0; f < half; ++f) {
      const float low = x_THC[row * c + f], high = x_THC[row * c + f + half], turn = sin[f] * sign;
      y_THC[row * c + f] = std::fma(low, cos[f], -(high * turn));
      y_THC[row * c + f + half] = std::fma(high, cos[f], low * turn);
    }
    std::copy(x_THC + row * c + 2 * half, x_THC + (row + 1) * c, y_THC + row * c + 2 * half);
  }
}

void add_layer_norm(float* y_MD, const float* x_MD, const float* residual_MD, const float* weight_D,
                    const float* bias_D, int64_t m, int64_t d, float eps) {
  for (int64_t row = 0; row < m; ++row) {
    float* y = y_MD + row * d;
    float sums[16] = {}, squares[16] = {};
    for (int64_t i = 0; i < d; ++i) {
      y[i] = x_MD[row * d + i] + (residual_MD == nullptr ? 0.0f : residual_MD[row * d + i]);
      sums[i % 16] += y[i];
    }
    const float mean = sum_lanes(sums) / static_cast<float>(d);
    for (int64_t i = 0; i < d; ++i) squares[i % 16] = std::fma(y[i] - mean, y[i] - mean, squares[i % 16]);
    const float scale = 1.0f / std::sqrt(sum_lanes(squares) / static_cast<float>(d) + eps);
    for (int64_t i = 0; i < d; ++i) y[i] = std::fma((y[i] - mean) * scale, weight_D[i], bias_D[i]);
  }
}

void gelu(float* y, const float* x, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    const float size = std::fabs(x[i]);
    const float t = 1.0f / std::fma(kErfScale, size, 1.0f);
    float sum = kErfPolynomial[0];
    for (int j = 1; j < 5; ++j) sum = std::fma(sum, t, kErfPolynomial[j]);
    const float beyond = sum * t * exp_f32(size * size * -0.5f);
    y[i] = std::fma(size * -0.5f, beyond, x[i] > 0 ? x[i] : 0.0f);
  }
}

void transpose(float* to, int64_t to_stride, const float* from, int64_t from_stride, int64_t m, int64_t n) {
  for (int64_t column = 0; column < n; ++column) {
    float* row_of = to + column * to_stride;
    for (int64_t row = 0; row < m; ++row) row_of[row] = from[row * from_stride + column];
    for (int64_t row = m; row % 16 != 0; ++row) row_of[row] = 0;
  }
}

void silu_mul(float* y, const float* gate, const float* up, int64_t n) {
  for (int64_t i = 0; i < n; ++i) y[i] = gate[i] / (1.0f + exp_f32(-gate[i])) * up[i];
}

void silu_mul_backward(float* gate_grad, float* up_grad, const float* y_grad, const float* gate, const float* up,
                       int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    const float open = 1.0f / (1.0f + exp_f32(-gate[i]));
    up_grad[i] = y_grad[i] * (gate[i] * open);
    gate_grad[i] = y_grad[i] * up[i] * (open * std::fma(gate[i], 1.0f - open, 1.0f));
  }
}

void gelu_mul(float* y, const float* gate, const float* up, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    const float slope = std::fma(gate[i] * gate[i], kGeluCubic, kGeluLinear);
    y[i] = gate[i] / (1.0f + exp_f32(-(gate[i] * slope))) * up[i];
  }
}

void gelu_mul_backward(float* gate_grad, float* up_grad, const float* y_grad, const float* gate, const float* up,
                       int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    const float square = gate[i] * gate[i];
    const float inner = gate[i] * std::fma(square, kGeluCubic, kGeluLinear);
    const float inner_slope = gate[i] * std::fma(square, 3.0f * kGeluCubic, kGeluLinear);
    const float open = 1.0f / (1.0f + exp_f32(-inner));
    up_grad[i] = y_grad[i] * (gate[i] * open);
    gate_grad[i] = y_grad[i] * up[i] * (open * std::fma(inner_slope, 1.0f - open, 1.0f));
  }
}

void softcap(float* x, int64_t n, float cap) {
  const float inverse = 1.0f / cap;
  for (int64_t i = 0; i < n; ++i) x[i] = cap * tanh_f32(x[i] * inverse);
}

}  // namespace seekrl::kernels::reference
