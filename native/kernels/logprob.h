// What sampling and the loss need of one row of logits: its normaliser and its entropy; f32, CPU.
#pragma once

#include <cstdint>

#include "kernels/kernel.h"

namespace seekrl::kernels {

// Of the distribution softmax(z), z = logits * inverse_temperature.
struct RowStats {
  float max = 0;      // of z
  float log_sum = 0;  // log sum exp(z - max)
  float entropy = 0;  // in nats: log_sum - sum (z - max) exp(z - max) / sum exp(z - max)
};

// Reads `size` floats once for the maximum and once for the sums (16 sums by index mod 16 within blocks of 1,024,
// blocks added in double): the same bits for the same row wherever it lies. A logit of minus infinity has no share; a
// row with others that are not finite, or with none that is, gives NaN.
namespace reference {
RowStats row_stats(const float* logits, int64_t size, float inverse_temperature);
}
SEEKRL_KERNEL(row_stats);

// Natural log of the probability of the id whose logit is given.
inline float logprob(const RowStats& stats, float logit, float inverse_temperature) {
  return (logit * inverse_temperature - stats.max) - stats.log_sum;
}

// Gradients of a row's results: of the log-probability of `id` and of the entropy.
struct RowGradients {
  int64_t id = 0;
  float logprob = 0;
  float entropy = 0;
};

// Replaces the logits by their gradient: with p = softmax(z) and H the entropy,
// inverse_temperature (logprob ([v = id] - p_v) - entropy p_v (log p_v + H)), 0 where p_v is. Reads and writes `size`
// floats.
namespace reference {
void row_backward(float* logits, int64_t size, float inverse_temperature, const RowStats& stats,
                  const RowGradients& gradients);
}
SEEKRL_KERNEL(row_backward);

}  // namespace seekrl::kernels
