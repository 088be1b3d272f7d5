// One pass for the normaliser, one walk for the draw; top-k and top-p select a bound and sort nothing.
#include "engine/sampler.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/random.h"
#include "kernels/logprob.h"
#include "ops/parallel.h"

namespace seekrl::engine {

namespace {

// The sampler's own stream of random numbers of a seed.
constexpr uint64_t kSamplingStream = 0x73616d706c65;
// An exponential costs about as much as so many multiply-adds.
constexpr int64_t kWorkPerLogit = 16;

// softmax(logits / temperature) of one row.
struct Distribution {
  const float* logits_V;
  int64_t vocab_size;
  float inverse_temperature;
  kernels::RowStats stats;

  float logprob(int64_t token) const { return kernels::logprob(stats, logits_V[token], inverse_temperature); }
  float probability(int64_t token) const { return std::exp(logprob(token)); }
};

// The order in which top-k and top-p keep tokens: the more probable first, the smaller id among equals.
struct Before {
  const float* logits_V;
  bool operator()(int32_t a, int32_t b) const { return logits_V[a] != logits_V[b] ? logits_V[a] > logits_V[b] : a < b; }
};

// The last of the first tokens in that order whose probabilities together reach `mass`, by halving: each half is only
// selected, never sorted, so all takes time in proportion to the number of tokens.
int32_t last_within(std::vector<int32_t>& tokens, const std::vector<float>& probabilities_V, double mass,
                    const Before& before) {
  auto low = tokens.begin(), high = tokens.end();
  while (high - low > 1) {
    const auto middle = low + (high - low) / 2;
    std::nth_element(low, middle, high, before);
    double left = 0;
    for (auto it = low; it != middle; ++it) left += probabilities_V[*it];
    if (left >= mass) {
      high = middle;
    } else {
      mass -= left;
      low = middle;
    }
  }
  return *low;
}

// The last token in that order which top-k and then top-p keep: top-p counts its share of what top-k left.
int32_t last_kept(const SamplingOptions& options, const std::vector<float>& probabilities_V, const Before& before) {
  std::vector<int32_t> tokens(probabilities_V.size());
  std::iota(tokens.begin(), tokens.end(), 0);
  const auto count = static_cast<int64_t>(tokens.size());
  if (options.top_k > 0 && options.top_k < count) {
    std::nth_element(tokens.begin(), tokens.begin() + options.top_k - 1, tokens.end(), before);
    if (options.top_p >= 1) return tokens[options.top_k - 1];
    tokens.resize(options.top_k);
  }
  double total = 0;
  for (const int32_t token : tokens) total += probabilities_V[token];
  return last_within(tokens, probabilities_V, options.top_p < 1 ? options.top_p * total : total, before);
}

// The first token at which the running sum of the probabilities passes `target`; should rounding leave the sum short
// of it, the last one with any probability.
template <class ProbabilityOf>
int64_t walk(int64_t vocab_size, double target, ProbabilityOf probability_of) {
  double sum = 0;
  int64_t last = 0;
  for (int64_t token = 0; token < vocab_size && sum <= target; ++token) {
    const double probability = probability_of(token);
    sum += probability;
    if (probability > 0) last = token;
  }
  return last;
}

int64_t draw_limited(const Distribution& row, const SamplingOptions& options, double u) {
  std::vector<float> probabilities_V(row.vocab_size);
  for (int64_t token = 0; token < row.vocab_size; ++token) probabilities_V[token] = row.probability(token);
  const Before before{row.logits_V};
  const int32_t last = last_kept(options, probabilities_V, before);
  double mass = 0;
  for (int32_t token = 0; token < row.vocab_size; ++token) {
    if (before(last, token)) probabilities_V[token] = 0;
    mass += probabilities_V[token];
  }
  return walk(row.vocab_size, u * mass, [&](int64_t token) { return probabilities_V[token]; });
}

int64_t draw(const Distribution& row, const SampleRequest& request) {
  const double u = uniform(request.seed, kSamplingStream, static_cast<uint64_t>(request.position));
  const bool is_limited = request.options.top_k > 0 || request.options.top_p < 1;
  if (is_limited) return draw_limited(row, request.options, u);
  return walk(row.vocab_size, u, [&](int64_t token) { return row.probability(token); });
}

Sample sample_row(const float* logits_V, int64_t vocab_size, const SampleRequest& request) {
  const bool is_greedy = request.options.temperature == 0;
  const auto inverse_temperature = static_cast<float>(is_greedy ? 1 : 1 / request.options.temperature);
  const Distribution row{logits_V, vocab_size, inverse_temperature,
                         kernels::row_stats(logits_V, vocab_size, inverse_temperature)};
  // Of numbers that cannot be ordered nothing is selected: that would read beyond their end.
  const float total = row.stats.max + row.stats.log_sum;
  if (!std::isfinite(total)) return {0, std::numeric_limits<float>::quiet_NaN(), 0};
  float entropy = 0;
  if (request.wants_entropy) {
    entropy = (inverse_temperature == 1 ? row.stats : kernels::row_stats(logits_V, vocab_size, 1)).entropy;
  }
  const int64_t token = is_greedy ? std::max_element(logits_V, logits_V + vocab_size) - logits_V : draw(row, request);
  return {token, row.logprob(token), entropy};
}

}  // namespace

std::vector<Sample> sample(const at::Tensor& logits_RV, const std::vector<SampleRequest>& requests) {
  const at::Tensor rows_RV = logits_RV.to(at::kCPU, at::kFloat).contiguous();
  const float* logits = rows_RV.const_data_ptr<float>();
  const int64_t vocab_size = rows_RV.size(1);
  const auto num_rows = static_cast<int64_t>(requests.size());
  std::vector<Sample> samples(num_rows);
  ops::claim_items(num_rows, num_rows * vocab_size * kWorkPerLogit,
                   [&](int64_t r) { samples[r] = sample_row(logits + r * vocab_size, vocab_size, requests[r]); });
  return samples;
}

}  // namespace seekrl::engine
