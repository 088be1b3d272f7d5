// How a kernel is started, on a GPU or in the emulator, and how its refusal is told.
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

// body.operator()<Number, C>() of the attention kernel for numbers of 16 bits and heads of width C, or the refusal.
template <class Body>
Status with_heads(Dtype dtype, int64_t head_dim, const Body& body) {
  return with_number(dtype, "attention: expected numbers of 16 bits", [&]<class Number>() -> Status {
    switch (head_dim) {
      case 32: return body.template operator()<Number, 32>();
      case 64: return body.template operator()<Number, 64>();
      case 80: return body.template operator()<Number, 80>();
      case 96: return body.template operator()<Number, 96>();
      case 128: return body.template operator()<Number, 128>();
      case 256: return body.template operator()<Number, 256>();
      default: return "attention: expected heads of width 32, 64, 80, 96, 128 or 256";
    }
  });
}

}  // namespace seekrl::cuda
