// The forward shared by policy and critic: hidden states of a batch's rows.
#pragma once

#include "model/decoder.h"
#include "train/batch.h"

namespace seekrl::train {

// [R, D], after the final norm; with gradients when the mode is on.
at::Tensor row_states(const model::Decoder& decoder, const Batch& batch);

}  // namespace seekrl::train
