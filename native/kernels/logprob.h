// What sampling and the loss need of one row of logits: its normaliser and its entropy; f32, CPU.
#pragma once

#include <cstdint>

namespace seekrl::kernels {

// Of the distribution softmax(z), z = logits * inverse_temperature.
struct RowStats {
  float max = 0;      // of z
  float log_sum = 0;  // log sum exp(z - max)
  float entropy = 0;  // in nats: log_sum - sum (z - max) exp(z - max) / sum exp(z - max)
};

// Reads `size` floats once for the maximum and once for the sums (16 sums by index mod 16 within blocks of 1,024,
// blocks added in double): the same bits for the same row wherever it lies.
RowStats row_stats(const float* logits, int64_t size, float inverse_temperature);

// Natural log of the probability of the id whose logit is given.
inline float logprob(const RowStats& stats, float logit, float inverse_temperature) {
  return (logit * inverse_temperature - stats.max) - stats.log_sum;
}

namespace reference {
RowStats row_stats(const float* logits, int64_t size, float inverse_temperature);
}

}  // namespace seekrl::kernels
