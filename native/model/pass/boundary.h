// The place between two layers, where a pass tells its observer.
#pragma once

#include <ATen/core/Tensor.h>

#include <utility>

#include "model/pass/pass_observer.h"

namespace seekrl::model {

// Both as they are; the second may be undefined. The observer lives until the backward pass.
std::pair<at::Tensor, at::Tensor> boundary(PassObserver& observer, int64_t layer, const at::Tensor& x_TD,
                                           const at::Tensor& added_TD);

}  // namespace seekrl::model
