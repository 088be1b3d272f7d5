// A thread has 16 bytes of codes, neighbours the bytes whose values lie side by side.
#include "kernels/cuda/launch.h"
#include "kernels/cuda/quant/codes.cuh"

namespace seekrl::cuda {

namespace {

constexpr int kThreads = 256;

// 4 outputs of 4 values along k: eight threads have 32 values of them.
template <class Number>
__global__ void __launch_bounds__(kThreads) bytes_to_numbers(Number* to_NK, QuantMatrix weight) {
  const int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x, blocks = ceil_divide(weight.k, kQuantBlock);
  const int64_t g = i % 8, a = i / 8 % 4, block = i / 32 % blocks, panel = i / 32 / blocks;
  const int64_t k = block * kQuantBlock + g * 4;
  if (panel >= ceil_divide(weight.n, kQuantLanes) || k >= weight.k) return;
  const uint4 codes = *reinterpret_cast<const uint4*>(weight.codes + i / 32 * 512 + g * 64 + a * 16);
#pragma unroll
  for (int o = 0; o < 4; ++o) {
    const int64_t n = panel * kQuantLanes + a * 4 + o;
    if (n >= weight.n) return;
    *reinterpret_cast<uint2*>(to_NK + n * weight.k + k) =
        numbers_of_bytes<Number>(word_of(codes, o), weight.channel_scales_N[n]);
  }
}

// 4 outputs of 8 values along k: four threads have 32 values of them.
template <class Number>
__global__ void __launch_bounds__(kThreads) nibbles_to_numbers(Number* to_NK, QuantMatrix weight) {
  const int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x, blocks = ceil_divide(weight.k, kQuantBlock);
  const int64_t q = i % 4, a = i / 4 % 4, block = i / 16 % blocks, panel = i / 16 / blocks;
  const int64_t k = block * kQuantBlock + q * 8;
  if (panel >= ceil_divide(weight.n, kQuantLanes) || k >= weight.k) return;
  const uint4 codes = *reinterpret_cast<const uint4*>(weight.codes + i / 16 * 256 + q * 64 + a * 16);
#pragma unroll
  for (int o = 0; o < 4; ++o) {
    const int64_t n = panel * kQuantLanes + a * 4 + o;
    if (n >= weight.n) return;
    const float scale = to_float(F16{weight.block_scales[i / 16 * kQuantLanes + a * 4 + o]});
    *reinterpret_cast<uint4*>(to_NK + n * weight.k + k) = numbers_of_nibbles<Number>(word_of(codes, o), scale);
  }
}

// 32 values of an output.
template <class Number>
__global__ void __launch_bounds__(kThreads) nf4_to_numbers(Number* to_NK, QuantMatrix weight) {
  SEEKRL_SHARED(float, levels, 16);
  if (threadIdx.x < 16) levels[threadIdx.x] = weight.levels[threadIdx.x];
  __syncthreads();
  const int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x, halves = ceil_divide(weight.k, kNf4Block) * 2;
  const int64_t n = i / halves, k = i % halves * 32;
  if (n >= weight.n || k >= weight.k) return;
  const uint4 codes = *reinterpret_cast<const uint4*>(weight.codes + i * 16);
  const float absmax = absmax_of(weight, n, k / kNf4Block);
#pragma unroll
  for (int w = 0; w < 4; ++w) {
    if (k + w * 8 >= weight.k) return;
    *reinterpret_cast<uint4*>(to_NK + n * weight.k + k + w * 8) =
        numbers_of_levels<Number>(word_of(codes, w), levels, absmax);
  }
}

template <class Number>
Status launch_dequantise(void* to_NK, const QuantMatrix& weight, void* stream) {
  const int64_t panels = ceil_divide(weight.n, kQuantLanes), blocks = ceil_divide(weight.k, kQuantBlock);
  auto* const to = static_cast<Number*>(to_NK);
  const auto run = [&](void (*kernel)(Number*, QuantMatrix), int64_t num_threads) {
    return launch(kernel, dim3(blocks_of(num_threads, kThreads)), dim3(kThreads), 0, stream, to, weight);
  };
  switch (weight.kind) {
    case QuantKind::kInt8: return run(&bytes_to_numbers<Number>, panels * blocks * 32);
    case QuantKind::kInt4: return run(&nibbles_to_numbers<Number>, panels * blocks * 16);
    default: return run(&nf4_to_numbers<Number>, weight.n * ceil_divide(weight.k, kNf4Block) * 2);
  }
}

}  // namespace

Status dequantise(void* to_NK, const QuantMatrix& weight, Dtype dtype, void* stream) {
  if (weight.n == 0) return nullptr;
  if (weight.k % 8 != 0) return "dequantise: expected inputs that are a multiple of 8";
  if (!are_aligned({to_NK, weight.codes})) return "dequantise: expected multiples of 16 bytes";
  return with_number(dtype, "dequantise: expected numbers of 16 bits",
                     [&]<class Number>() { return launch_dequantise<Number>(to_NK, weight, stream); });
}

}  // namespace seekrl::cuda
