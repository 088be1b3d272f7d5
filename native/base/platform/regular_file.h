// Opens regular files alone: a FIFO, a device or a socket in the place of one would hold its reader for ever.
#pragma once

#include <string>

namespace seekrl {

// A descriptor, to be closed; flags as of open(2), besides those by which exec closes it and nothing waits.
// Throws kIo that says what stands there instead.
int open_regular(const std::string& path, int flags);

}  // namespace seekrl
