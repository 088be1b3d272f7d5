// AdamW on a GPU.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "ops/adamw.h"

namespace seekrl::ops {

// As ops::adamw, of parameters on a GPU.
void gpu_adamw(const std::vector<TrainedParameter>& parameters, const AdamWRates& rates);

// The squares of all gradients of these parameters on the device, added in f64 in an order that their sizes alone
// decide: f64 [1], which nobody waits for. Nothing of their size is allocated.
at::Tensor gpu_squared_norm(const std::vector<TrainedParameter>& parameters, at::Device device);

}  // namespace seekrl::ops
