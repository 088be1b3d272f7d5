// Chooses the next token of each row: greedy, or a draw from the distribution that the options leave of its logits.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>
#include <vector>

#include "engine/sampling/options.h"
#include "kernels/sampling.h"

namespace seekrl::engine {

// A draw is a function of the row's logits, the options, the tokens before it, the mask and the seed, and of nothing
// else.
struct SampleRequest {
  const SamplingOptions* options = nullptr;
  uint64_t seed = 0;
  std::span<const int64_t> tokens = {};  // all before the one to be drawn; their number is its position
  int64_t num_prompt = 0;                // of them, those that stood there before the span began
  const int32_t* mask = nullptr;         // bit v % 32 of word v / 32: whether token v is allowed; null allows all
  bool wants_entropy = false;
  int64_t num_top = 0;  // most likely tokens to list: at most kernels::kMaxTop, and no more than there are
  const uint32_t* mask_on_gpu = nullptr;  // where the mask lies on the GPU already

  void hold_to(const int32_t* other) {
    mask = other;
    mask_on_gpu = nullptr;
  }
};

// A mask of all tokens but some.
std::vector<int32_t> mask_without(const std::vector<int64_t>& tokens, int64_t vocab_size);

struct Sample {
  int64_t token;  // -1 when every token is forbidden
  // Natural log of the token's probability under softmax(logits / temperature) over the whole vocabulary, before all
  // that else changes the distribution it is drawn from; the temperature is 1 for a greedy row. NaN when a logit of the
  // row is.
  float logprob;
  float entropy;  // of softmax(logits), in nats, over the whole vocabulary; 0 unless wanted
  // Of the distribution of `logprob`, where that is a number and there is a token; see top.h.
  std::vector<kernels::TopToken> top = {};
};

// logits_RV: any floating dtype and device, bounded in place first where softcap is more than 0: x becomes softcap
// tanh(x / softcap). One request per row. part > 0: log-probabilities and entropies are computed from those of parts of
// so many logits, as ranks that share the vocabulary do (ops/head/row_parts.h; on a GPU combine_scores).
std::vector<Sample> sample(const at::Tensor& logits_RV, const std::vector<SampleRequest>& requests, double softcap = 0,
                           int64_t part = 0);

}  // namespace seekrl::engine
