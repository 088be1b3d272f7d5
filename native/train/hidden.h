// The forward shared by policy and critic: hidden states of a batch's rows.
#pragma once

#include "model/decoder.h"
#include "train/batch.h"

namespace seekrl::train {

// [R, D], after the final norm; with gradients when the mode is on.
at::Tensor row_states(const model::Policy& policy, const Batch& batch);

// ERR_STATE when the weights under an adapter have a trainer of their own: their gradients would be wrong.
void check_frozen(const model::Policy& policy);

}  // namespace seekrl::train
