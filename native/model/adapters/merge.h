// An adapter becomes part of the weights it was put on.
#pragma once

#include "model/adapters/adapter.h"
#include "model/decoder.h"

namespace seekrl::model {

// W += scale B A for each target, summed in f32 and rounded to the decoder's dtype. With the adapter off the decoder
// then computes what it did with it on, to rounding. ERR_STATE while the weights are trained, and for quantised
// ones.
void merge(Decoder& decoder, const Adapter& adapter);

}  // namespace seekrl::model
