// A named weight.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>

namespace seekrl::model {

// A weight under its Hugging Face name, for example "model.layers.0.self_attn.q_proj.weight".
struct Parameter {
  std::string name;
  at::Tensor value;  // leaf; requires_grad once a trainer asks for it
};

}  // namespace seekrl::model
