// The job's store: small values and counters that all ranks see; c10d's TCPStore.
#pragma once

#include <sys/socket.h>

#include <atomic>
#include <chrono>
#include <optional>
#include <string>
#include <torch/csrc/distributed/c10d/Store.hpp>
#include <utility>

#include "comm/place.h"

namespace seekrl::comm {

// How long the store outlives a failure, so that every rank reads what has happened.
constexpr std::chrono::milliseconds kTold{2000};

using StorePointer = c10::intrusive_ptr<c10d::Store>;

// Connects to the store, or serves it. ERR_REMOTE when nobody answers within `patience`, or the port is taken.
StorePointer open_store(const Place& place, std::chrono::milliseconds patience);

// Connects to the store, or serves it, and waits until every rank is there. ERR_REMOTE when nobody answers, and naming
// the ranks that do not come; ERR_ARGUMENT where a rank has come twice; ERR_ABORTED once cancelled.
StorePointer meet(const Place& place, const std::atomic<bool>& is_cancelled);

// Host and port in numbers; nothing where the address has none.
std::optional<std::pair<std::string, std::string>> numeric_name(const sockaddr_storage& address, socklen_t length);

// The address of this machine from which it reaches the store, which others can reach in turn.
std::string own_address(const Place& place);

}  // namespace seekrl::comm
