// Chooses the next token of each row: greedy, or a draw from the temperature-scaled, top-k and top-p limited softmax.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace seekrl::engine {

struct SamplingOptions {
  double temperature = 1;  // 0 is greedy
  double top_p = 1;        // 1 is off
  int64_t top_k = 0;       // 0 is off
};

// A draw is a function of the row's logits, its options, the seed and the position, and of nothing else.
struct SampleRequest {
  SamplingOptions options;
  uint64_t seed = 0;
  int64_t position = 0;  // of the token to be sampled
  bool wants_entropy = false;
};

struct Sample {
  int64_t token;
  // Natural log of the token's probability under softmax(logits / temperature) over the whole vocabulary, before
  // top-k and top-p; the temperature is 1 for a greedy row. NaN when a logit of the row is.
  float logprob;
  float entropy;  // of softmax(logits), in nats, over the whole vocabulary; 0 unless wanted
};

// logits_RV: any floating dtype and device; one request per row.
std::vector<Sample> sample(const at::Tensor& logits_RV, const std::vector<SampleRequest>& requests);

}  // namespace seekrl::engine
