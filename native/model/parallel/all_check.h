// What each rank finds of its slices alone, and all have to know.
#pragma once

#include <functional>

#include "base/error.h"
#include "model/parallel/tensor_parallel.h"

namespace seekrl::model {

// Of which all ranks know: nobody has to be told.
class AlikeError : public Error {
 public:
  using Error::Error;
};

// Runs `check` on all ranks, before something is changed on any. What the first rank that fails throws they all throw.
void all_check(const TensorParallel& parallel, const std::function<void()>& check);

}  // namespace seekrl::model
