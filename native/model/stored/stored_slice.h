// The part of a stored tensor that one rank reads.
#pragma once

#include "model/parallel/slice.h"
#include "model/weights.h"

namespace seekrl::model {

// The slice as a tensor of its own in the same file; itself where the slice is all of it, and where it has another
// shape than the slice is of, which its reader refuses.
StoredTensor stored_slice(const StoredTensor& stored, const Slice& slice);

}  // namespace seekrl::model
