// How much a step runs on a GPU whose memory it must fit into.
#pragma once

#include <cstdint>

#include "engine/limits.h"

namespace seekrl::engine {

// All that the caller allows; half of a step that ran out of memory; twice as much again after many that did not. A row
// has at least one token, so that fewer tokens are fewer rows in the end.
class StepBudget {
 public:
  explicit StepBudget(Limits all) : all_(all), now_(all) {}

  const Limits& limits() const { return now_; }
  // After a step of so many tokens that ran out. False when there is nothing less to try.
  bool shrink(int64_t num_tokens);
  // After a step that did not.
  void grow();

 private:
  Limits all_, now_;
  int64_t num_good_ = 0;  // steps since it changed
};

}  // namespace seekrl::engine
