// The process group for JavaScript.
#pragma once

#include <napi.h>

#include <memory>

#include "comm/process_group.h"

namespace seekrl::node {

// The group behind a handle, or null for undefined.
std::shared_ptr<comm::ProcessGroup> process_group_of(const Napi::Value& value);

void export_comm(Napi::Env env, Napi::Object exports);

}  // namespace seekrl::node
