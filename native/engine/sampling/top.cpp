// One pass: a logit that is above the least of those kept takes its place among them.
#include "engine/sampling/top.h"

#include <algorithm>

#include "kernels/logprob.h"

namespace seekrl::engine {

std::vector<kernels::TopToken> top_tokens(const float* logits_V, int64_t vocab_size, int64_t count,
                                          const kernels::RowStats& stats, float inverse_temperature) {
  std::vector<int32_t> kept;
  kept.reserve(count);
  const auto is_above = [&](int32_t a, int32_t b) { return logits_V[a] > logits_V[b]; };
  for (int32_t token = 0; token < vocab_size; ++token) {
    if (std::ssize(kept) == count) {
      if (!is_above(token, kept.back())) continue;
      kept.pop_back();
    }
    kept.insert(std::upper_bound(kept.begin(), kept.end(), token, is_above), token);
  }
  std::vector<kernels::TopToken> top;
  for (const int32_t token : kept) {
    top.push_back({token, kernels::logprob(stats, logits_V[token], inverse_temperature)});
  }
  return top;
}

}  // namespace seekrl::engine
