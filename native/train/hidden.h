// The forward shared by policy and critic: hidden states of a batch's rows.
#pragma once

#include <memory>

#include "model/policy.h"
#include "train/batch.h"

namespace seekrl::train {

// The hidden states of a batch's rows, and what they need until their backward pass.
struct RowStates {
  at::Tensor states_RD;  // after the final norm; with gradients when the mode is on
  std::unique_ptr<model::Attention> attention;
};

RowStates row_states(const model::Policy& policy, const Batch& batch, const model::TrainingPass& pass = {});

// ERR_STATE when the weights under an adapter have a trainer of their own: their gradients would be wrong.
void check_frozen(const model::Policy& policy);

}  // namespace seekrl::train
