// dlopen, and a symbol for each entry.
#include "comm/nccl/library.h"

#include <dlfcn.h>

#include <cstdlib>
#include <string>

#include "base/error.h"

namespace seekrl::comm::nccl {

namespace {

constexpr int kLeastVersion = 21400;

// The folder of this addon's own file.
std::string own_folder() {
  Dl_info info;
  const bool is_found = dladdr(reinterpret_cast<const void*>(&own_folder), &info) != 0;
  const std::string file = is_found ? info.dli_fname : "";
  return file.substr(0, file.rfind('/') + 1);
}

std::string file_of(c10::DeviceType type) {
  if (type == c10::DeviceType::PrivateUse1) return own_folder() + "libseekrl_emulated.so";
  const char* const given = std::getenv("SEEKRL_NCCL");
  return given == nullptr ? "libnccl.so.2" : given;
}

template <class Function>
void find(void* file, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(file, name));
  require(function != nullptr, ErrorCode::kDevice, "NCCL: expected version 2.14 or later, got one without ", name);
}

Library opened(c10::DeviceType type) {
  const std::string path = file_of(type);
  void* const file = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  require(file != nullptr, ErrorCode::kDevice, "NCCL, which moves numbers between GPUs, is not here: ", dlerror(),
          ". Remedy: install libnccl2 or the wheel nvidia-nccl, and name the file in SEEKRL_NCCL");
  Library library{};
  find(file, "ncclGetVersion", library.version);
  find(file, "ncclGetErrorString", library.error_string);
  find(file, "ncclGetUniqueId", library.unique_id);
  find(file, "ncclCommInitRankConfig", library.init);
  find(file, "ncclCommGetAsyncError", library.async_error);
  find(file, "ncclCommAbort", library.abort);
  find(file, "ncclGroupStart", library.group_start);
  find(file, "ncclGroupEnd", library.group_end);
  find(file, "ncclAllReduce", library.all_reduce);
  find(file, "ncclReduceScatter", library.reduce_scatter);
  find(file, "ncclAllGather", library.all_gather);
  find(file, "ncclBroadcast", library.broadcast);
  find(file, "ncclSend", library.send);
  find(file, "ncclRecv", library.receive);
  int version = 0;
  library.version(&version);
  require(version >= kLeastVersion, ErrorCode::kDevice, "NCCL: expected version 2.14 or later, got ", version);
  return library;
}

}  // namespace

const Library& library(c10::DeviceType type) {
  static const Library library = opened(type);  // there is one kind of GPU in a process
  return library;
}

}  // namespace seekrl::comm::nccl
