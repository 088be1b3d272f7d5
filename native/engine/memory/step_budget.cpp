// What fails costs a step, so what is likely to fail again is not tried often.
#include "engine/memory/step_budget.h"

#include <algorithm>

namespace seekrl::engine {

namespace {

constexpr int64_t kGoodSteps = 64;

}  // namespace

bool StepBudget::shrink(int64_t num_tokens) {
  num_good_ = 0;
  if (num_tokens <= 1) return false;
  now_.max_batch_tokens = std::min(now_.max_batch_tokens, num_tokens / 2);
  return true;
}

void StepBudget::grow() {
  if (now_.max_batch_tokens == all_.max_batch_tokens || ++num_good_ < kGoodSteps) return;
  num_good_ = 0;
  now_.max_batch_tokens = std::min(all_.max_batch_tokens, 2 * now_.max_batch_tokens);
}

}  // namespace seekrl::engine
