// Log-probabilities of all rows in one op, then one walk over each row.
#include "engine/sampler.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/random.h"

namespace seekrl::engine {

namespace {

// The sampler's own stream of random numbers of a seed.
constexpr uint64_t kSamplingStream = 0x73616d706c65;

bool is_greedy(const SamplingOptions& options) { return options.temperature == 0; }

bool is_limited(const SamplingOptions& options) { return options.top_k > 0 || options.top_p < 1; }

// softmax(logits / temperature) in logarithms, f32 on the CPU; rows are independent of one another.
at::Tensor log_softmax_rows(const at::Tensor& logits_RV, const std::vector<SampleRequest>& requests) {
  at::Tensor scaled_RV = logits_RV.to(at::kFloat);
  const auto is_scaled = [](const SampleRequest& r) { return !is_greedy(r.options) && r.options.temperature != 1; };
  if (std::any_of(requests.begin(), requests.end(), is_scaled)) {
    at::Tensor temperature_R1 = at::ones({static_cast<int64_t>(requests.size()), 1}, at::kFloat);
    float* temperatures = temperature_R1.mutable_data_ptr<float>();
    for (size_t r = 0; r < requests.size(); ++r) {
      if (is_scaled(requests[r])) temperatures[r] = static_cast<float>(requests[r].options.temperature);
    }
    scaled_RV = scaled_RV / temperature_R1.to(logits_RV.device());
  }
  return at::log_softmax(scaled_RV, 1).to(at::kCPU).contiguous();
}

// The most probable tokens, most probable first (the smaller id among equals), as top-k and then top-p allow: the
// fewest whose share of what top-k left reaches top_p.
void keep_top(const float* logprobs_V, int64_t vocab_size, const SamplingOptions& options, std::vector<int64_t>& kept) {
  kept.resize(vocab_size);
  std::iota(kept.begin(), kept.end(), 0);
  const auto before = [logprobs_V](int64_t a, int64_t b) {
    return logprobs_V[a] != logprobs_V[b] ? logprobs_V[a] > logprobs_V[b] : a < b;
  };
  if (options.top_k > 0 && options.top_k < vocab_size) {
    std::nth_element(kept.begin(), kept.begin() + options.top_k, kept.end(), before);
    kept.resize(options.top_k);
  }
  if (options.top_p >= 1) return;
  double total = 0;
  for (int64_t token : kept) total += std::exp(logprobs_V[token]);
  // Sorts ever longer prefixes until one holds the share: most often a few dozen tokens do.
  double mass = 0;
  size_t num_kept = 0;
  for (size_t sorted = std::min<size_t>(64, kept.size());; sorted = std::min(sorted * 8, kept.size())) {
    std::partial_sort(kept.begin() + num_kept, kept.begin() + sorted, kept.end(), before);
    while (num_kept < sorted && mass < options.top_p * total) mass += std::exp(logprobs_V[kept[num_kept++]]);
    if (mass >= options.top_p * total || sorted == kept.size()) break;
  }
  kept.resize(std::max<size_t>(1, num_kept));
}

// The first token at which the running sum of probabilities passes `target`; rounding may leave the sum short of it,
// then the last token with any probability.
template <class TokenAt>
int64_t walk(const float* logprobs_V, int64_t count, double target, TokenAt token_at) {
  double sum = 0;
  int64_t last = token_at(0);
  for (int64_t i = 0; i < count; ++i) {
    const int64_t token = token_at(i);
    const double probability = std::exp(logprobs_V[token]);
    if (probability == 0) continue;
    sum += probability;
    last = token;
    if (sum > target) break;
  }
  return last;
}

int64_t draw(const float* logprobs_V, int64_t vocab_size, const SampleRequest& request, std::vector<int64_t>& kept) {
  const double u = uniform(request.seed, kSamplingStream, static_cast<uint64_t>(request.position));
  if (!is_limited(request.options)) {
    return walk(logprobs_V, vocab_size, u, [](int64_t i) { return i; });
  }
  keep_top(logprobs_V, vocab_size, request.options, kept);
  double mass = 0;
  for (int64_t token : kept) mass += std::exp(logprobs_V[token]);
  std::sort(kept.begin(), kept.end());
  return walk(logprobs_V, static_cast<int64_t>(kept.size()), u * mass, [&kept](int64_t i) { return kept[i]; });
}

}  // namespace

std::vector<Sample> sample(const at::Tensor& logits_RV, const std::vector<SampleRequest>& requests) {
  const at::Tensor logprobs_RV = log_softmax_rows(logits_RV, requests);
  const int64_t vocab_size = logprobs_RV.size(1);
  const float* row = logprobs_RV.const_data_ptr<float>();
  std::vector<Sample> samples;
  samples.reserve(requests.size());
  std::vector<int64_t> kept;
  for (const auto& request : requests) {
    const int64_t token = is_greedy(request.options) ? std::max_element(row, row + vocab_size) - row
                                                     : draw(row, vocab_size, request, kept);
    samples.push_back({token, row[token]});
    row += vocab_size;
  }
  return samples;
}

}  // namespace seekrl::engine
