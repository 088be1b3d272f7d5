// Spelling of the error codes.
#include "base/error.h"

namespace seekrl {

const char* code_name(ErrorCode code) {
  switch (code) {
    case ErrorCode::kArgument: return "ERR_ARGUMENT";
    case ErrorCode::kShape: return "ERR_SHAPE";
    case ErrorCode::kDtype: return "ERR_DTYPE";
    case ErrorCode::kRange: return "ERR_RANGE";
    case ErrorCode::kState: return "ERR_STATE";
    case ErrorCode::kIo: return "ERR_IO";
    case ErrorCode::kFormat: return "ERR_FORMAT";
    case ErrorCode::kMemory: return "ERR_MEMORY";
    case ErrorCode::kDevice: return "ERR_DEVICE";
    case ErrorCode::kRemote: return "ERR_REMOTE";
    case ErrorCode::kAborted: return "ERR_ABORTED";
    case ErrorCode::kInternal: return "ERR_INTERNAL";
  }
  return "ERR_INTERNAL";
}

}  // namespace seekrl
