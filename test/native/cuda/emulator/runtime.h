// What kernels/cuda/launch.h calls of CUDA's runtime, with its rules: a kernel is given 48 KB of shared memory and more
// on demand, and an error stays behind until it is asked for.
#pragma once

#include <map>
#include <mutex>
#include <string>

#include "launch.h"

using cudaStream_t = void*;
enum cudaError_t { cudaSuccess = 0, cudaErrorInvalidValue = 1, cudaErrorLaunchFailure = 719 };
enum cudaFuncAttribute { cudaFuncAttributeMaxDynamicSharedMemorySize = 8 };

struct cudaLaunchConfig_t {
  seekrl::emulator::Dim3 gridDim, blockDim;
  size_t dynamicSmemBytes = 0;
  cudaStream_t stream = nullptr;
  void* attrs = nullptr;
  unsigned numAttrs = 0;
};

namespace seekrl::emulator {

// What each kernel has asked for.
class AskedBytes {
 public:
  void set(const void* kernel, size_t bytes) {
    const std::lock_guard lock(mutex_);
    bytes_[kernel] = bytes;
  }
  size_t of(const void* kernel) {
    const std::lock_guard lock(mutex_);
    const auto at = bytes_.find(kernel);
    return at == bytes_.end() ? 0 : at->second;
  }

 private:
  std::mutex mutex_;
  std::map<const void*, size_t> bytes_;
};
inline AskedBytes asked_bytes;

inline thread_local cudaError_t last_error = cudaSuccess;
inline thread_local std::string last_fault;

inline cudaError_t refuse(cudaError_t error, const char* what) {
  last_fault = what;
  return last_error = error;
}

}  // namespace seekrl::emulator

inline cudaError_t cudaGetLastError() { return std::exchange(seekrl::emulator::last_error, cudaSuccess); }
// More than CUDA says.
inline const char* cudaGetErrorString(cudaError_t) { return seekrl::emulator::last_fault.c_str(); }

inline cudaError_t cudaFuncSetAttribute(const void* kernel, cudaFuncAttribute, int bytes) {
  using namespace seekrl::emulator;
  if (static_cast<size_t>(bytes) > kMaxSharedBytes)
    return refuse(cudaErrorInvalidValue, "launch: more shared memory than a block has on every GPU");
  asked_bytes.set(kernel, bytes);
  return cudaSuccess;
}

template <class... Parameters, class... Arguments>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config, void (*kernel)(Parameters...),
                               Arguments... arguments) {
  using namespace seekrl::emulator;
  const auto* const address = reinterpret_cast<const void*>(kernel);
  const size_t bytes = config->dynamicSmemBytes, asked = asked_bytes.of(address);
  launch_log.add(address, config->blockDim.count(), bytes);
  try {
    if (asked > 0 && bytes > asked) throw Fault("launch: more shared memory than was asked for");
    launch(config->gridDim, config->blockDim, bytes, asked > 0, [=] { kernel(arguments...); });
    return cudaSuccess;
  } catch (const Fault& error) {
    return refuse(cudaErrorLaunchFailure, error.what());
  }
}
