// Weights from the rank that has them to those that generate.
#pragma once

#include "comm/process_group.h"
#include "model/policy.h"

namespace seekrl::train {

// Gives every rank what the root's policy is trained to be, bit for bit, and its version. All ranks of the group call
// it with policies of the same shape. A bucket travels while the one before it is copied to where it belongs. Device
// thread only, so that an engine's step sees all of the new weights or none.
void broadcast_weights(const model::Policy& policy, comm::ProcessGroup& group, int root);

}  // namespace seekrl::train
