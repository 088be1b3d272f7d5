// Nothing is remembered from one token to the next: the tokens before it say all, whatever was truncated or drafted.
#include "engine/sampling/row_edits.h"

#include <algorithm>
#include <limits>
#include <map>

#include "ops/kernel_path.h"

namespace seekrl::engine {

namespace {

constexpr float kForbidden = -std::numeric_limits<float>::infinity();
// As LogitEdit has it: a token that stood nowhere before.
constexpr int32_t kNotBefore = -1;

void apply_mask(float* logits_V, int64_t vocab_size, const int32_t* mask) {
  for (int64_t start = 0; start < vocab_size; start += 32) {
    const auto word = static_cast<uint32_t>(mask[start / 32]);
    if (word == ~uint32_t{0}) continue;
    const int64_t count = std::min<int64_t>(32, vocab_size - start);
    for (int64_t i = 0; i < count; ++i) {
      if ((word >> i & 1) == 0) logits_V[start + i] = kForbidden;
    }
  }
}

// Calls forbid(the last token) of each bad word whose other tokens have just been said.
template <class Forbid>
void for_forbidden(const SampleRequest& request, const Forbid& forbid) {
  for (const std::vector<int64_t>& word : request.options->bad_words) {
    const auto num_before = static_cast<std::ptrdiff_t>(word.size()) - 1;
    if (num_before > std::ssize(request.tokens)) continue;
    if (std::equal(word.begin(), word.end() - 1, request.tokens.end() - num_before)) {
      forbid(word.back());
    }
  }
}

// Tokens that were counted and not yet penalised have a count; all counts of a thread are 0 between rows.
int32_t* counts_of(int64_t vocab_size) {
  thread_local std::vector<int32_t> counts;
  if (std::ssize(counts) < vocab_size) counts.resize(vocab_size);
  return counts.data();
}

// The repetition penalty is for all tokens before, the others for those of the span.
void penalise(float* logits_V, int64_t vocab_size, const SampleRequest& request) {
  const SamplingOptions& options = *request.options;
  const auto repetition = static_cast<float>(options.repetition_penalty);
  int32_t* counts = counts_of(vocab_size);
  for (size_t i = 0; i < request.tokens.size(); ++i) {
    // One more than the times it was said in the span.
    int32_t& count = counts[request.tokens[i]];
    count = std::max(count, 1) + (static_cast<int64_t>(i) >= request.num_prompt ? 1 : 0);
  }
  for (const int64_t token : request.tokens) {
    const int32_t num_said = std::exchange(counts[token], 0) - 1;
    if (num_said < 0) continue;
    float& logit = logits_V[token];
    logit = logit < 0 ? logit * repetition : logit / repetition;
    if (num_said == 0) continue;
    logit -= static_cast<float>(options.frequency_penalty) * static_cast<float>(num_said);
    logit -= static_cast<float>(options.presence_penalty);
  }
}

}  // namespace

std::vector<cuda::LogitEdit> edits_of(const SampleRequest& request) {
  const SamplingOptions& options = *request.options;
  std::map<int32_t, cuda::LogitEdit> edits;
  const auto edit = [&](int64_t token) -> cuda::LogitEdit& {
    const auto id = static_cast<int32_t>(token);
    return edits.try_emplace(id, cuda::LogitEdit{id, kNotBefore, 0}).first->second;
  };
  for (const auto& [token, bias] : options.logit_bias) edit(token).bias += bias;
  for_forbidden(request, [&](int64_t token) { edit(token).bias = kForbidden; });
  if (options.has_penalties()) {
    for (size_t i = 0; i < request.tokens.size(); ++i) {
      int32_t& num_said = edit(request.tokens[i]).num_said;
      num_said = std::max(num_said, 0) + (static_cast<int64_t>(i) >= request.num_prompt ? 1 : 0);
    }
  }
  std::vector<cuda::LogitEdit> result;
  for (const auto& [token, each] : edits) result.push_back(each);
  return result;
}

bool has_edits(const SampleRequest& request) {
  const SamplingOptions& options = *request.options;
  return request.mask != nullptr || !options.logit_bias.empty() || !options.bad_words.empty() ||
         options.has_penalties();
}

void edit_logits(float* logits_V, int64_t vocab_size, const SampleRequest& request) {
  const SamplingOptions& options = *request.options;
  if (request.mask != nullptr) apply_mask(logits_V, vocab_size, request.mask);
  for (const auto& [token, bias] : options.logit_bias) logits_V[token] += bias;
  for_forbidden(request, [&](int64_t token) { logits_V[token] = kForbidden; });
  if (options.has_penalties()) penalise(logits_V, vocab_size, request);
}

}  // namespace seekrl::engine
