// One pass for the normaliser, one walk for the draw; top-k and top-p sort no more than they must.
#include "engine/sampler.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
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
  double probability(int64_t token) const { return std::exp(logprob(token)); }
};

// The tokens top-k and then top-p allow, in no order: the most probable ones (the smaller id among equals), of which
// top-p keeps the fewest whose share of what top-k left reaches it.
std::vector<int64_t> kept_tokens(const Distribution& row, const SamplingOptions& options) {
  std::vector<int64_t> kept(row.vocab_size);
  std::iota(kept.begin(), kept.end(), 0);
  const auto before = [&row](int64_t a, int64_t b) {
    return row.logits_V[a] != row.logits_V[b] ? row.logits_V[a] > row.logits_V[b] : a < b;
  };
  if (options.top_k > 0 && options.top_k < row.vocab_size) {
    std::nth_element(kept.begin(), kept.begin() + options.top_k, kept.end(), before);
    kept.resize(options.top_k);
  }
  if (options.top_p >= 1) return kept;
  double total = 0, mass = 0;
  for (int64_t token : kept) total += row.probability(token);
  // Sorts ever longer prefixes until one holds the share: most often a few dozen tokens do.
  size_t num_kept = 0, num_sorted = 0;
  while (num_kept == 0 || (mass < options.top_p * total && num_kept < kept.size())) {
    if (num_kept == num_sorted) {
      num_sorted = std::min(kept.size(), std::max<size_t>(64, 8 * num_sorted));
      std::partial_sort(kept.begin() + num_kept, kept.begin() + num_sorted, kept.end(), before);
    }
    mass += row.probability(kept[num_kept++]);
  }
  kept.resize(num_kept);
  return kept;
}

// The first of `count` tokens at which the running sum of probabilities passes `target`; should rounding leave the sum
// short of it, the last one with any probability.
template <class TokenAt>
int64_t walk(const Distribution& row, int64_t count, double target, TokenAt token_at) {
  double sum = 0;
  int64_t last = token_at(0);
  for (int64_t i = 0; i < count && sum <= target; ++i) {
    const double probability = row.probability(token_at(i));
    sum += probability;
    if (probability > 0) last = token_at(i);
  }
  return last;
}

int64_t draw(const Distribution& row, const SampleRequest& request) {
  const double u = uniform(request.seed, kSamplingStream, static_cast<uint64_t>(request.position));
  if (request.options.top_k == 0 && request.options.top_p >= 1) {
    return walk(row, row.vocab_size, u, [](int64_t i) { return i; });
  }
  std::vector<int64_t> kept = kept_tokens(row, request.options);
  std::sort(kept.begin(), kept.end());
  double mass = 0;
  for (int64_t token : kept) mass += row.probability(token);
  return walk(row, static_cast<int64_t>(kept.size()), u * mass, [&kept](int64_t i) { return kept[i]; });
}

Sample sample_row(const float* logits_V, int64_t vocab_size, const SampleRequest& request) {
  const bool is_greedy = request.options.temperature == 0;
  const auto inverse_temperature = static_cast<float>(is_greedy ? 1 : 1 / request.options.temperature);
  const Distribution row{logits_V, vocab_size, inverse_temperature,
                         kernels::row_stats(logits_V, vocab_size, inverse_temperature)};
  const int64_t token = is_greedy ? std::max_element(logits_V, logits_V + vocab_size) - logits_V : draw(row, request);
  return {token, row.logprob(token)};
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
