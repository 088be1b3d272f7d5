// How a kernel is started, on a GPU or in the emulator, and how its refusal is told.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <mutex>

#include "kernels/cuda/device.h"
#include "kernels/cuda/number.h"
#include "kernels/cuda/status.h"

namespace seekrl::cuda {

// Shared memory, static and dynamic, that a block has without asking, and the most of it that is static in any kernel
// of ours (test/native/cuda/resources.full.test.ts).
constexpr size_t kGivenSharedBytes = 48 << 10, kMostStaticBytes = 8 << 10;

// Asks for a kernel's dynamic shared memory where it is not given. What is asked for only grows: another of the host's
// threads may be about to launch the kernel with more.
inline cudaError_t ask_for_shared(const void* kernel, size_t bytes) {
  if (bytes + kMostStaticBytes <= kGivenSharedBytes) return cudaSuccess;
  static std::mutex mutex;
  static std::map<const void*, size_t> asked;
  const std::lock_guard lock(mutex);
  size_t& most = asked[kernel];
  if (bytes <= most) return cudaSuccess;
  const cudaError_t error =
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes));
  if (error == cudaSuccess) most = bytes;
  return error;
}

template <class... Parameters, class... Arguments>
Status launch(void (*kernel)(Parameters...), dim3 grid, dim3 block, size_t shared_bytes, void* stream,
              Arguments... arguments) {
  cudaError_t error = ask_for_shared(reinterpret_cast<const void*>(kernel), shared_bytes);
  if (error == cudaSuccess) {
    const cudaLaunchConfig_t config = {grid, block, shared_bytes, static_cast<cudaStream_t>(stream), nullptr, 0};
    error = cudaLaunchKernelEx(&config, kernel, arguments...);
  }
  if (error == cudaSuccess) return nullptr;
  cudaGetLastError();  // so that it is not taken for the next call's
  return cudaGetErrorString(error);
}

// Whether each begins at a multiple of kBytes, as loads of so many take it; null does.
template <int kBytes = 16>
bool are_aligned(std::initializer_list<const void*> pointers) {
  return std::all_of(pointers.begin(), pointers.end(),
                     [](const void* at) { return reinterpret_cast<uintptr_t>(at) % kBytes == 0; });
}

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
