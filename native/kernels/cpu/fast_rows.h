// Row-wise and elementwise kernels sixteen elements at a time, in the reference's order.
#pragma once

#include "kernels/cpu/lanes.h"
#include "kernels/logprob.h"
#include "kernels/rows.h"
#include "kernels/sampling.h"

namespace seekrl::kernels::SEEKRL_ISA {

// Calls body(offset, count) for each group of 16 elements; the last may have fewer.
template <class Body>
inline void for_lanes(int64_t size, const Body& body) {
  for (int64_t i = 0; i < size; i += kLanes) body(i, size - i < kLanes ? size - i : kLanes);
}

inline float square_root(float x) { return _mm_cvtss_f32(_mm_sqrt_ss(_mm_set_ss(x))); }

inline void rms_norm(float* y_MD, float* scale_M, const float* x_MD, const float* weight_D, int64_t m, int64_t d,
                     float eps) {
  for (int64_t row = 0; row < m; ++row) {
    const float* x = x_MD + row * d;
    float* y = y_MD + row * d;
    Lanes squares = zeros();
    for_lanes(d, [&](int64_t i, int64_t count) {
      const Lanes values = load_first(x + i, count);
      squares = fma(values, values, squares);
    });
    const float scale = 1.0f / square_root(sum_lanes(squares) / static_cast<float>(d) + eps);
    for_lanes(d, [&](int64_t i, int64_t count) {
      store_first(y + i, load_first(x + i, count) * broadcast(scale) * load_first(weight_D + i, count), count);
    });
    if (scale_M != nullptr) scale_M[row] = scale;
  }
}

inline void rms_norm_backward(float* x_grad_MD, float* weight_grad_D, const float* y_grad_MD, const float* x_MD,
                              const float* scale_M, const float* weight_D, int64_t m, int64_t d) {
  for (int64_t row = 0; row < m; ++row) {
    const float *x = x_MD + row * d, *y_grad = y_grad_MD + row * d;
    float* x_grad = x_grad_MD + row * d;
    const float scale = scale_M[row];
    Lanes products = zeros();
    for_lanes(d, [&](int64_t i, int64_t count) {
      products =
          fma(load_first(y_grad + i, count) * load_first(weight_D + i, count), load_first(x + i, count), products);
    });
    const Lanes shared = broadcast(-(sum_lanes(products) / static_cast<float>(d) * scale * scale));
    for_lanes(d, [&](int64_t i, int64_t count) {
      const Lanes values = load_first(x + i, count), grads = load_first(y_grad + i, count);
      const Lanes inner = fma(values, shared, grads * load_first(weight_D + i, count));
      store_first(x_grad + i, inner * broadcast(scale), count);
      const Lanes sum = fma(grads, values * broadcast(scale), load_first(weight_grad_D + i, count));
      store_first(weight_grad_D + i, sum, count);
    });
  }
}

inline void rope(float* y_THC, const float* x_THC, const float* cos_TF, const float* sin_TF, int64_t t, int64_t h,
                 int64_t c, int64_t num_frequencies, float sign) {
  const int64_t half = num_frequencies;
  for (int64_t row = 0; row < t * h; ++row) {
    const float *cos = cos_TF + row / h * half, *sin = sin_TF + row / h * half;
    const float* x = x_THC + row * c;
    float* y = y_THC + row * c;
    for_lanes(half, [&](int64_t f, int64_t count) {
      const Lanes low = load_first(x + f, count), high = load_first(x + half + f, count);
      const Lanes turn = load_first(sin + f, count) * broadcast(sign), keep = load_first(cos + f, count);
      store_first(y + f, fma(low, keep, -(high * turn)), count);
      store_first(y + half + f, fma(high, keep, low * turn), count);
    });
    for (int64_t i = 2 * half; i < c; ++i) y[i] = x[i];
  }
}

inline void add_layer_norm(float* y_MD, const float* x_MD, const float* residual_MD, const float* weight_D,
                           const float* bias_D, int64_t m, int64_t d, float eps) {
  for (int64_t row = 0; row < m; ++row) {
    const float* x = x_MD + row * d;
    const float* residual = residual_MD == nullptr ? nullptr : residual_MD + row * d;
    float* y = y_MD + row * d;
    Lanes sums = zeros();
    for_lanes(d, [&](int64_t i, int64_t count) {
      Lanes z = load_first(x + i, count);
      if (residual != nullptr) z = z + load_first(residual + i, count);
      store_first(y + i, z, count);
      sums = sums + z;
    });
    const Lanes mean = broadcast(sum_lanes(sums) / static_cast<float>(d));
    Lanes squares = zeros();
    for_lanes(d, [&](int64_t i, int64_t count) {
      const Lanes centred = keep_first(load_first(y + i, count) - mean, count);
      squares = fma(centred, centred, squares);
    });
    const Lanes scale = broadcast(1.0f / square_root(sum_lanes(squares) / static_cast<float>(d) + eps));
    for_lanes(d, [&](int64_t i, int64_t count) {
      const Lanes normed = (load_first(y + i, count) - mean) * scale;
      store_first(y + i, fma(normed, load_first(weight_D + i, count), load_first(bias_D + i, count)), count);
    });
  }
}

inline void gelu(float* y, const float* x, int64_t n) {
  const Lanes one = broadcast(1.0f), minus_half = broadcast(-0.5f);
  for_lanes(n, [&](int64_t i, int64_t count) {
    const Lanes value = load_first(x + i, count), size = max(value, -value);
    const Lanes t = one / fma(broadcast(kErfScale), size, one);
    Lanes sum = broadcast(kErfPolynomial[0]);
    for (int j = 1; j < 5; ++j) sum = fma(sum, t, broadcast(kErfPolynomial[j]));
    const Lanes beyond = sum * t * exp_lanes(size * size * minus_half);
    store_first(y + i, fma(size * minus_half, beyond, max(value, zeros())), count);
  });
}

inline void silu_mul(float* y, const float* gate, const float* up, int64_t n) {
  for_lanes(n, [&](int64_t i, int64_t count) {
    const Lanes x = load_first(gate + i, count);
    const Lanes shut = broadcast(1.0f) + exp_lanes(-x);
    store_first(y + i, x / shut * load_first(up + i, count), count);
  });
}

inline void silu_mul_backward(float* gate_grad, float* up_grad, const float* y_grad, const float* gate, const float* up,
                              int64_t n) {
  const Lanes one = broadcast(1.0f);
  for_lanes(n, [&](int64_t i, int64_t count) {
    const Lanes x = load_first(gate + i, count), grad = load_first(y_grad + i, count);
    const Lanes open = one / (one + exp_lanes(-x));
    store_first(up_grad + i, grad * (x * open), count);
    store_first(gate_grad + i, grad * load_first(up + i, count) * (open * fma(x, one - open, one)), count);
  });
}

inline void gelu_mul(float* y, const float* gate, const float* up, int64_t n) {
  for_lanes(n, [&](int64_t i, int64_t count) {
    const Lanes x = load_first(gate + i, count);
    const Lanes slope = fma(x * x, broadcast(kGeluCubic), broadcast(kGeluLinear));
    const Lanes shut = broadcast(1.0f) + exp_lanes(-(x * slope));
    store_first(y + i, x / shut * load_first(up + i, count), count);
  });
}

inline void gelu_mul_backward(float* gate_grad, float* up_grad, const float* y_grad, const float* gate, const float* up,
                              int64_t n) {
  const Lanes one = broadcast(1.0f), linear = broadcast(kGeluLinear);
  for_lanes(n, [&](int64_t i, int64_t count) {
    const Lanes x = load_first(gate + i, count), grad = load_first(y_grad + i, count), square = x * x;
    const Lanes inner = x * fma(square, broadcast(kGeluCubic), linear);
    const Lanes inner_slope = x * fma(square, broadcast(3.0f * kGeluCubic), linear);
    const Lanes open = one / (one + exp_lanes(-inner));
    store_first(up_grad + i, grad * (x * open), count);
    store_first(gate_grad + i, grad * load_first(up + i, count) * (open * fma(inner_slope, one - open, one)), count);
  });
}

inline void softcap(float* x, int64_t n, float cap) {
  const Lanes most = broadcast(cap), inverse = broadcast(1.0f / cap);
  for_lanes(n, [&](int64_t i, int64_t count) {
    store_first(x + i, most * tanh_lanes(load_first(x + i, count) * inverse), count);
  });
}

// Both sums over one block of at most 1,024 logits; their exponentials are stored where there is a place for them.
inline void add_block(float* weights, const float* logits, int64_t size, Lanes scale, Lanes minus_max, float& sum,
                      float& weighted) {
  Lanes sums = zeros(), weighted_sums = zeros();
  for_lanes(size, [&](int64_t v, int64_t count) {
    const Lanes shifted = fma(load_first(logits + v, count), scale, minus_max);
    const Lanes e = keep_first(exp_lanes(shifted), count);
    if (weights != nullptr) store_first(weights + v, e, count);
    sums = sums + e;
    weighted_sums = fma(max(broadcast(kExpNone), shifted), e, weighted_sums);
  });
  sum = sum_lanes(sums);
  weighted = sum_lanes(weighted_sums);
}

inline RowStats row_weights(float* weights_V, const float* logits, int64_t size, float inverse_temperature) {
  const Lanes scale = broadcast(inverse_temperature);
  Lanes largest = broadcast(logits[0] * inverse_temperature);
  int64_t v = 0;
  for (; v + kLanes <= size; v += kLanes) largest = max(largest, load(logits + v) * scale);
  RowStats stats;
  stats.max = max_lanes(largest);
  for (; v < size; ++v) {
    const float z = logits[v] * inverse_temperature;
    stats.max = z > stats.max ? z : stats.max;
  }
  double total = 0, weighted_total = 0;
  for (int64_t start = 0; start < size; start += 1024) {
    float sum = 0, weighted = 0;
    float* const weights = weights_V == nullptr ? nullptr : weights_V + start;
    const int64_t count = size - start < 1024 ? size - start : 1024;
    add_block(weights, logits + start, count, scale, broadcast(-stats.max), sum, weighted);
    total += sum;
    weighted_total += weighted;
  }
  const double log_total = __builtin_log(total);
  stats.log_sum = static_cast<float>(log_total);
  stats.entropy = static_cast<float>(log_total - weighted_total / total);
  return stats;
}

inline RowStats row_stats(const float* logits, int64_t size, float inverse_temperature) {
  return row_weights(nullptr, logits, size, inverse_temperature);
}

inline void kept_sums(float* sums_B, const float* weights_V, int64_t size, float bound) {
  const Lanes least = broadcast(bound);
  for (int64_t start = 0; start < size; start += kWeightBlock) {
    const int64_t block_size = size - start < kWeightBlock ? size - start : kWeightBlock;
    Lanes sums = zeros();
    for_lanes(block_size, [&](int64_t v, int64_t count) {
      const Lanes weights = load_first(weights_V + start + v, count);
      sums = sums + zero_below(weights, weights, least);
    });
    sums_B[start / kWeightBlock] = sum_lanes(sums);
  }
}

inline int64_t keep_between(float* kept, const float* weights_V, int64_t size, float low, float high) {
  int64_t num_kept = 0, v = 0;
  for (; v + kLanes <= size; v += kLanes) num_kept += keep_between(kept + num_kept, load(weights_V + v), low, high);
  for (; v < size; ++v) {
    if (weights_V[v] >= low && weights_V[v] < high) kept[num_kept++] = weights_V[v];
  }
  return num_kept;
}

inline void row_backward(float* logits, int64_t size, float inverse_temperature, const RowStats& stats,
                         const RowGradients& gradients) {
  const Lanes scale = broadcast(inverse_temperature), entropy = broadcast(stats.entropy);
  for_lanes(size, [&](int64_t v, int64_t count) {
    const Lanes shifted = fma(load_first(logits + v, count), scale, broadcast(-stats.max));
    const Lanes log_p = max(broadcast(kExpNone), shifted - broadcast(stats.log_sum));
    const Lanes slope = fma(broadcast(gradients.entropy), log_p + entropy, broadcast(gradients.logprob));
    store_first(logits + v, -(exp_lanes(log_p) * slope * scale), count);
  });
  logits[gradients.id] += gradients.logprob * inverse_temperature;
}

}  // namespace seekrl::kernels::SEEKRL_ISA
