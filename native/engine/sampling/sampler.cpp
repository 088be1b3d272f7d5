// One pass for the maximum, one for the weights, one for the sums of those kept; the draw then walks a single block.
#include "engine/sampling/sampler.h"

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/error.h"
#include "base/random.h"
#include "engine/sampling/bound.h"
#include "engine/sampling/gpu_sampler.h"
#include "engine/sampling/row_edits.h"
#include "engine/sampling/top.h"
#include "kernels/sampling.h"
#include "ops/elementwise/softcap.h"
#include "ops/head/row_parts.h"
#include "ops/parallel.h"
#include "ops/scratch.h"

namespace seekrl::engine {

namespace {

using kernels::kWeightBlock;
using kernels::RowStats;

// An exponential costs about as much as so many multiply-adds.
constexpr int64_t kWorkPerLogit = 16;

// The first index at which the running sum passes `target`, which is lowered by the sum before it; should rounding
// leave the sum short, the last index that is not zero.
template <class ValueOf>
int64_t walk(int64_t size, double& target, ValueOf value_of) {
  double sum = 0, before_last = 0;
  int64_t last = 0;
  for (int64_t i = 0; i < size && sum <= target; ++i) {
    const double value = value_of(i);
    if (value > 0) {
      last = i;
      before_last = sum;
    }
    sum += value;
  }
  target -= before_last;
  return last;
}

// Draws in proportion to the weights that are at least `bound`.
int64_t draw(const float* weights_V, int64_t vocab_size, float bound, double u) {
  const int64_t num_blocks = (vocab_size + kWeightBlock - 1) / kWeightBlock;
  float* sums_B = ops::scratch<float, ops::Scratch::kSums>(num_blocks);
  kernels::kept_sums(sums_B, weights_V, vocab_size, bound);
  double target = u * std::accumulate(sums_B, sums_B + num_blocks, 0.0);
  const int64_t start = walk(num_blocks, target, [&](int64_t b) { return sums_B[b]; }) * kWeightBlock;
  const int64_t count = std::min(kWeightBlock, vocab_size - start);
  return start + walk(count, target, [&](int64_t i) {
           const float weight = weights_V[start + i];
           return weight >= bound ? weight : 0.0f;
         });
}

// -1 when every logit is -infinity.
int64_t choose(const float* logits_V, int64_t vocab_size, const SampleRequest& request, const RowStats& stats,
               const float* weights_V) {
  if (stats.max == -std::numeric_limits<float>::infinity()) return -1;
  if (request.options->temperature == 0) return std::find(logits_V, logits_V + vocab_size, stats.max) - logits_V;
  const auto position = static_cast<uint64_t>(request.tokens.size());
  const float bound = least_kept(weights_V, vocab_size, *request.options);
  return draw(weights_V, vocab_size, bound, uniform(request.seed, kernels::kSamplingStream, position));
}

// `part` as of sample().
Sample sample_row(const float* logits_V, int64_t vocab_size, const SampleRequest& request, int64_t part) {
  const double temperature = request.options->temperature;
  const auto inverse_temperature = static_cast<float>(temperature == 0 ? 1 : 1 / temperature);
  const bool is_edited = has_edits(request);
  float* weights_V = temperature == 0 ? nullptr : ops::scratch<float, ops::Scratch::kProbability>(vocab_size);
  const auto stats_of = [&](float inverse) {
    return part > 0 ? ops::stats_by_parts(logits_V, vocab_size, part, inverse)
                    : kernels::row_stats(logits_V, vocab_size, inverse);
  };
  const RowStats drawn_from =
      kernels::row_weights(is_edited ? nullptr : weights_V, logits_V, vocab_size, inverse_temperature);
  const RowStats stats = part > 0 ? stats_of(inverse_temperature) : drawn_from;
  // Of numbers that cannot be ordered nothing is selected: that would read beyond their end.
  if (!std::isfinite(stats.max + stats.log_sum)) return {0, std::numeric_limits<float>::quiet_NaN(), 0};
  int64_t token;
  if (is_edited) {
    float* edited_V = ops::scratch<float, ops::Scratch::kLogits>(vocab_size);
    std::copy(logits_V, logits_V + vocab_size, edited_V);
    edit_logits(edited_V, vocab_size, request);
    token = choose(edited_V, vocab_size, request,
                   kernels::row_weights(weights_V, edited_V, vocab_size, inverse_temperature), weights_V);
  } else {
    token = choose(logits_V, vocab_size, request, stats, weights_V);
  }
  if (token < 0) return {-1, 0, 0};
  float entropy = 0;
  if (request.wants_entropy) {
    entropy = (inverse_temperature == 1 ? stats : stats_of(1)).entropy;
  }
  Sample drawn = {token, kernels::logprob(stats, logits_V[token], inverse_temperature), entropy};
  if (request.num_top > 0) {
    drawn.top = top_tokens(logits_V, vocab_size, request.num_top, stats, inverse_temperature);
  }
  return drawn;
}

}  // namespace

std::vector<int32_t> mask_without(const std::vector<int64_t>& tokens, int64_t vocab_size) {
  std::vector<uint32_t> words((vocab_size + 31) / 32, ~uint32_t{0});
  for (const int64_t token : tokens) {
    require(token >= 0 && token < vocab_size, ErrorCode::kRange, "undrawn: expected 0 to ", vocab_size - 1, ", got ",
            token);
    words[token / 32] &= ~(uint32_t{1} << token % 32);
  }
  return {words.begin(), words.end()};
}

std::vector<Sample> sample(const at::Tensor& logits_RV, const std::vector<SampleRequest>& requests, double softcap,
                           int64_t part) {
  if (!logits_RV.device().is_cpu()) return sample_on_gpu(logits_RV.to(at::kFloat), requests, softcap, part);
  const at::Tensor rows_RV = logits_RV.to(at::kFloat).contiguous();
  if (softcap > 0) ops::softcap_(rows_RV, softcap);
  const float* logits = rows_RV.const_data_ptr<float>();
  const int64_t vocab_size = rows_RV.size(1);
  const auto num_rows = static_cast<int64_t>(requests.size());
  std::vector<Sample> samples(num_rows);
  ops::claim_items(num_rows, num_rows * vocab_size * kWorkPerLogit,
                   [&](int64_t r) { samples[r] = sample_row(logits + r * vocab_size, vocab_size, requests[r], part); });
  return samples;
}

}  // namespace seekrl::engine
