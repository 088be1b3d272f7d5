// NCCL by its C interface, opened while the process runs, so that one addon serves machines with and without it. The
// process group for GPUs that libtorch has lives in its CUDA library, whose headers a build without CUDA lacks.
#pragma once

#include <c10/core/DeviceType.h>

#include <climits>
#include <cstddef>

namespace seekrl::comm::nccl {

// As nccl.h declares them, in all versions from 2.14 on.
struct UniqueId {
  char bytes[128];
};
struct Communicator;  // ncclComm
enum class Result : int { kSuccess = 0, kRemoteError = 6, kInProgress = 7 };
enum class Dtype : int {
  kInt8 = 0,
  kUint8 = 1,
  kInt32 = 2,
  kInt64 = 4,
  kHalf = 6,
  kFloat = 7,
  kDouble = 8,
  kBFloat16 = 9
};
enum class Reduction : int { kSum = 0 };

// What 2.14 knew of a configuration: later versions take their defaults for what came after it.
struct Config {
  size_t size = sizeof(Config);
  unsigned int magic = 0xcafebeef;
  unsigned int version = 21400;
  int is_blocking = 0;     // calls return at once, and say so when they are not done
  int reserved = INT_MIN;  // fills up the size; unset
};

struct Library {
  Result (*version)(int* version);
  const char* (*error_string)(Result result);
  Result (*unique_id)(UniqueId* id);
  Result (*init)(Communicator** communicator, int size, UniqueId id, int rank, Config* config);
  Result (*async_error)(Communicator* communicator, Result* error);
  Result (*abort)(Communicator* communicator);
  Result (*group_start)();
  Result (*group_end)();
  // counts are elements: of the result's part for reduce_scatter, of the given part for all_gather
  Result (*all_reduce)(const void* from, void* to, size_t count, Dtype, Reduction, Communicator*, void* stream);
  Result (*reduce_scatter)(const void* from, void* to, size_t count, Dtype, Reduction, Communicator*, void* stream);
  Result (*all_gather)(const void* from, void* to, size_t count, Dtype, Communicator*, void* stream);
  Result (*broadcast)(const void* from, void* to, size_t count, Dtype, int root, Communicator*, void* stream);
  Result (*send)(const void* from, size_t count, Dtype, int peer, Communicator*, void* stream);
  Result (*receive)(void* to, size_t count, Dtype, int peer, Communicator*, void* stream);
};

// Opens it, once a process: libnccl.so.2, or the file that SEEKRL_NCCL names; ERR_DEVICE where it is not there or older
// than 2.14. That of kind PrivateUse1 is the tests' emulation, beside the addon.
const Library& library(c10::DeviceType type);

}  // namespace seekrl::comm::nccl
