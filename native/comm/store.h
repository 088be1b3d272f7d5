// The job's store: small values and counters that all ranks see; c10d's TCPStore.
#pragma once

#include <torch/csrc/distributed/c10d/Store.hpp>

#include "comm/place.h"

namespace seekrl::comm {

using StorePointer = c10::intrusive_ptr<c10d::Store>;

// Connects to the store, or serves it. ERR_REMOTE when nobody answers in time, or the port is taken.
StorePointer open_store(const Place& place);

// Waits until every rank is there. ERR_REMOTE naming those that are not; ERR_ARGUMENT where a rank has come twice.
void await_all(c10d::Store& store, const Place& place);

// The address of this machine from which it reaches the store, which others can reach in turn.
std::string own_address(const Place& place);

}  // namespace seekrl::comm
