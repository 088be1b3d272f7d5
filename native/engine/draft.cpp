// A linear search: thousands of tokens cost less than the smallest model's step.
#include "engine/draft.h"

#include <algorithm>

namespace seekrl::engine {

namespace {

constexpr int64_t kGram = 3, kMostDrafted = 8;
// A drafted token adds an eighth or less to a step that decodes (see bench/results), so that one in five must be right.
constexpr double kWorthwhile = 0.2;
constexpr double kMemory = 0.75;
constexpr int64_t kPause = 64;

}  // namespace

void Draft::extend(std::vector<int64_t>& tokens) {
  const auto size = std::ssize(tokens);
  if (most_ <= 0 || size <= kGram) return;
  if (num_to_skip_ > 0) {
    --num_to_skip_;
    return;
  }
  const auto gram = tokens.end() - kGram;
  // Backwards, so that the latest is found first; it may overlap the last tokens, as in a repetition.
  for (auto at = gram - 1; at >= tokens.begin(); --at) {
    if (*at != *gram || !std::equal(at, at + kGram, gram)) continue;
    const auto start = at + kGram - tokens.begin();
    num_tokens_ = std::min(most_, length_);
    // What is appended is read again where the two places overlap.
    for (int64_t i = 0; i < num_tokens_; ++i) tokens.push_back(tokens[start + i]);
    return;
  }
}

std::vector<int64_t> Draft::take_off(std::vector<int64_t>& tokens) {
  const std::vector<int64_t> drafted(tokens.end() - num_tokens_, tokens.end());
  tokens.resize(tokens.size() - drafted.size());
  num_tokens_ = 0;
  return drafted;
}

void Draft::learn(int64_t num_drafted, int64_t num_accepted) {
  if (num_drafted == 0) return;
  const bool is_right = num_accepted == num_drafted;
  length_ = is_right ? std::min(kMostDrafted, 2 * length_) : std::max<int64_t>(1, num_accepted);
  const double share = static_cast<double>(num_accepted) / static_cast<double>(num_drafted);
  share_accepted_ = kMemory * share_accepted_ + (1 - kMemory) * share;
  if (share_accepted_ >= kWorthwhile) return;
  num_to_skip_ = kPause;
  share_accepted_ = 2 * kWorthwhile;
}

}  // namespace seekrl::engine
