// Gloo's devices and buffers, of which c10d's declarations need the names.
#pragma once

namespace gloo::transport {
class Device;
class UnboundBuffer;
}  // namespace gloo::transport
