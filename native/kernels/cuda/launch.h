// How a kernel is started, on a card or in the emulator, and how its refusal is told.
#pragma once

#include <cstdint>

#include "kernels/cuda/device.h"
#include "kernels/cuda/number.h"
#include "kernels/cuda/status.h"

namespace seekrl::cuda {

#if defined(__CUDACC__)

// A kernel may need more shared memory than is given without asking; asking again costs nothing next to a launch.
template <class... Parameters, class... Arguments>
Status launch(void (*kernel)(Parameters...), dim3 grid, dim3 block, size_t shared_bytes, void* stream,
              Arguments... arguments) {
  if (shared_bytes > 48u << 10) {
    const cudaError_t error =
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared_bytes));
    if (error != cudaSuccess) return cudaGetErrorString(error);
  }
  kernel<<<grid, block, shared_bytes, static_cast<cudaStream_t>(stream)>>>(arguments...);
  const cudaError_t error = cudaGetLastError();
  return error == cudaSuccess ? nullptr : cudaGetErrorString(error);
}

#else

template <class... Parameters, class... Arguments>
Status launch(void (*kernel)(Parameters...), dim3 grid, dim3 block, size_t shared_bytes, void*,
              Arguments... arguments) {
  static thread_local std::string fault;
  emulator::launch_log.add(reinterpret_cast<const void*>(kernel), block.count(), shared_bytes);
  try {
    emulator::launch(grid, block, shared_bytes, [=] { kernel(arguments...); });
    return nullptr;
  } catch (const emulator::Fault& error) {
    fault = error.what();
    return fault.c_str();
  }
}

#endif

// How many blocks of threads `count` items take.
inline unsigned blocks_of(int64_t count, int64_t per_block) {
  return static_cast<unsigned>(ceil_divide(count, per_block));
}

// body.operator()<Number>() for numbers of 16 bits; `refusal` for others.
template <class Body>
Status with_number(Dtype dtype, Status refusal, const Body& body) {
  switch (dtype) {
    case Dtype::kBf16: return body.template operator()<Bf16>();
    case Dtype::kF16: return body.template operator()<F16>();
    default: return refusal;
  }
}

}  // namespace seekrl::cuda
