// Numbers made by a kernel, and memory filled with them.
#include "device.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/number.h"

namespace seekrl::bench {

namespace {

constexpr int kThreads = 256, kOfThread = 32;

__device__ __forceinline__ uint64_t mixed(uint64_t stream, uint64_t i) {
  uint64_t x = (stream << 40) + i + 0x9E3779B97F4A7C15u;
  x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
  x = (x ^ x >> 27) * 0x94D049BB133111EBu;
  return x ^ x >> 31;
}

// Each of a thread's numbers is a block's width from its last.
template <class Each>
__device__ __forceinline__ void each_own(int64_t count, const Each& each) {
  const int64_t first = int64_t{blockIdx.x} * kThreads * kOfThread + threadIdx.x;
  for (int64_t n = 0, i = first; n < kOfThread && i < count; ++n, i += kThreads) each(i);
}

template <class Number>
__global__ void __launch_bounds__(kThreads) fill(Number* to, int64_t count, uint64_t stream, float size, float offset) {
  each_own(count, [&](int64_t i) {
    const float unit = static_cast<float>(static_cast<int32_t>(mixed(stream, i) >> 40) - (1 << 23)) * 0x1p-23f;
    to[i] = cuda::from_float<Number>(fmaf(unit, size, offset));
  });
}

__global__ void __launch_bounds__(kThreads) fill_bytes(uint8_t* to, int64_t count, uint64_t stream) {
  each_own(count, [&](int64_t i) { to[i] = static_cast<uint8_t>(mixed(stream, i) >> 56); });
}

dim3 grid_of(int64_t count) { return dim3(cuda::blocks_of(count, kThreads * kOfThread)); }

// Number i of `to` becomes offset + size u, u in [-1, 1) made of `stream` and i (splitmix64), rounded once to dtype.
cuda::Status fill_numbers(void* to, cuda::Dtype dtype, int64_t count, uint64_t stream, float size, float offset) {
  const auto run = [&]<class Number>(Number* numbers) {
    return cuda::launch(&fill<Number>, grid_of(count), dim3(kThreads), 0, nullptr, numbers, count, stream, size,
                        offset);
  };
  switch (dtype) {
    case cuda::Dtype::kBf16: return run(static_cast<cuda::Bf16*>(to));
    case cuda::Dtype::kF16: return run(static_cast<cuda::F16*>(to));
    default: return run(static_cast<float*>(to));
  }
}

cuda::Status fill_codes(uint8_t* to, int64_t count, uint64_t stream) {
  return cuda::launch(&fill_bytes, grid_of(count), dim3(kThreads), 0, nullptr, to, count, stream);
}

}  // namespace

void* Memory::poisoned(cuda::Dtype dtype, int64_t count) {
  void* const to = bytes(count * (dtype == cuda::Dtype::kFloat ? 4 : 2));
  require(fill_numbers(to, dtype, count, 0, 0, __builtin_nanf("")));
  return to;
}

void* Memory::numbers(cuda::Dtype dtype, int64_t count, float size, float offset) {
  void* const to = bytes(count * (dtype == cuda::Dtype::kFloat ? 4 : 2));
  require(fill_numbers(to, dtype, count, ++stream_, size, offset));
  return to;
}

uint8_t* Memory::codes(int64_t count) {
  auto* const to = empty<uint8_t>(count);
  require(fill_codes(to, count, ++stream_));
  return to;
}

}  // namespace seekrl::bench
