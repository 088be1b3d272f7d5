// Quantised weights made of stored tensors.
#pragma once

#include "model/stored/stored_tensor.h"
#include "ops/quant/quant_weight.h"

namespace seekrl::model {

// As ops::quantise, a few rows at a time; but an int4 weight takes Q4_0's codes and scales as they are.
// ERR_FORMAT for a type that holds no weights, ERR_RANGE for numbers that are not finite.
void quantise_stored(ops::QuantWeight& weight, const StoredTensor& stored);

}  // namespace seekrl::model
