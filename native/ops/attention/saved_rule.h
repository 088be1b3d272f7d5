// A rule of scores, kept from a forward pass to its backward pass.
#pragma once

#include <torch/csrc/autograd/custom_function.h>

#include "kernels/attention.h"

namespace seekrl::ops {

inline void save_rule(torch::autograd::AutogradContext* context, const kernels::ScoreRule& rule) {
  context->saved_data["scale"] = rule.scale;
  context->saved_data["softcap"] = rule.softcap;
  context->saved_data["window"] = rule.window;
}

inline kernels::ScoreRule saved_rule(torch::autograd::AutogradContext* context) {
  return {static_cast<float>(context->saved_data["scale"].toDouble()),
          static_cast<float>(context->saved_data["softcap"].toDouble()), context->saved_data["window"].toInt()};
}

}  // namespace seekrl::ops
