// How a span's tokens are drawn.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace seekrl::engine {

// What is done to a row of logits, in this order: a constraint's mask, logit_bias, bad_words, repetition_penalty,
// frequency_penalty, presence_penalty, temperature, top_k, top_p of what top_k left, min_p. The formulas are those of
// transformers 5 and vLLM 0.11; where these differ, docs/sampling.md says which is followed.
struct SamplingOptions {
  double temperature = 1;  // 0 is greedy: the largest edited logit, the first among equals; no limit matters then
  double top_p = 1;        // 1 is off
  int64_t top_k = 0;       // 0 is off
  double min_p = 0;        // 0 is off
  double repetition_penalty = 1;
  double presence_penalty = 0;
  double frequency_penalty = 0;
  std::vector<std::pair<int64_t, float>> logit_bias = {};
  std::vector<std::vector<int64_t>> bad_words = {};  // none is empty

  bool has_penalties() const { return repetition_penalty != 1 || presence_penalty != 0 || frequency_penalty != 0; }
};

}  // namespace seekrl::engine
