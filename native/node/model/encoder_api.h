// Encoders for JavaScript, see lib/base/addon.
#pragma once

#include <napi.h>

namespace seekrl::node {

void export_encoder(Napi::Env env, Napi::Object exports);

}  // namespace seekrl::node
