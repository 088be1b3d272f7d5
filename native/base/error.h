// The one exception of the native core, with the closed list of codes shared with lib/base/errors.ts.
#pragma once

#include <sstream>
#include <stdexcept>
#include <string>

namespace seekrl {

enum class ErrorCode {
  kArgument,
  kShape,
  kDtype,
  kRange,
  kState,
  kIo,
  kFormat,
  kMemory,
  kDevice,
  kRemote,
  kAborted,
  kInternal,
};

// The spelling JavaScript sees, for example "ERR_SHAPE".
const char* code_name(ErrorCode code);

class Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  ErrorCode code() const { return code_; }

 private:
  ErrorCode code_;
};

// Throws an Error whose message is its arguments written one after another.
template <class... Parts>
[[noreturn]] void fail(ErrorCode code, const Parts&... parts) {
  std::ostringstream message;
  (message << ... << parts);
  throw Error(code, message.str());
}

// Throws unless `condition` holds; for what a caller can get wrong.
template <class... Parts>
void require(bool condition, ErrorCode code, const Parts&... parts) {
  if (!condition) fail(code, parts...);
}

}  // namespace seekrl
