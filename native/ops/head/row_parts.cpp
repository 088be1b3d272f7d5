// With w_i the share of part i in the sum of exponentials and a_i the mean of z - max_i in it, the whole has
// log_sum = log sum exp(max_i - max + log_sum_i) and entropy = log_sum - sum w_i (a_i + max_i - max).
#include "ops/head/row_parts.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace seekrl::ops {

using kernels::RowStats;

RowStats combined_stats(std::span<const RowStats> parts) {
  float max = -std::numeric_limits<float>::infinity();
  double sum = 0, mean = 0;
  for (const RowStats& part : parts) max = std::max(max, part.max);
  for (const RowStats& part : parts) {
    const double weight = std::exp(static_cast<double>(part.max) - max + part.log_sum);
    sum += weight;
    // A part of which nothing is possible has no share.
    if (weight != 0) mean += weight * (static_cast<double>(part.log_sum) - part.entropy + part.max - max);
  }
  const double log_sum = std::log(sum);
  return {max, static_cast<float>(log_sum), static_cast<float>(log_sum - mean / sum)};
}

at::Tensor combined_stats(const at::Tensor& all_NR4) {
  const int64_t num_parts = all_NR4.size(0), num_rows = all_NR4.size(1);
  at::Tensor stats_R4 = at::empty({num_rows, 4}, all_NR4.options());
  const float* const all = all_NR4.const_data_ptr<float>();
  float* to = stats_R4.mutable_data_ptr<float>();
  std::vector<RowStats> parts(static_cast<size_t>(num_parts));
  for (int64_t row = 0; row < num_rows; ++row, to += 4) {
    float scaled = -std::numeric_limits<float>::infinity();
    for (int64_t i = 0; i < num_parts; ++i) {
      const float* const from = all + (i * num_rows + row) * 4;
      parts[static_cast<size_t>(i)] = {from[0], from[1], from[2]};
      scaled = std::max(scaled, from[3]);
    }
    const RowStats whole = combined_stats(parts);
    to[0] = whole.max;
    to[1] = whole.log_sum;
    to[2] = whole.entropy;
    to[3] = (scaled - whole.max) - whole.log_sum;
  }
  return stats_R4;
}

RowStats stats_by_parts(const float* logits_V, int64_t vocab_size, int64_t part, float inverse_temperature) {
  std::vector<RowStats> parts;
  for (int64_t first = 0; first < vocab_size; first += part) {
    parts.push_back(kernels::row_stats(logits_V + first, std::min(part, vocab_size - first), inverse_temperature));
  }
  return combined_stats(parts);
}

}  // namespace seekrl::ops
