// A block a token; of angles, a thread each.
#include "kernels/cuda/launch.h"
#include "kernels/cuda/layer/tokens.h"
#include "kernels/cuda/number.h"
#include "kernels/cuda/reduce.h"

namespace seekrl::cuda {

namespace {

constexpr int kTokenThreads = 128;

template <class Number>
__global__ void __launch_bounds__(kTokenThreads) embed_tokens(Embed call) {
  const int64_t token = blockIdx.x, id = call.ids_T[token];
  for (int64_t c = int64_t{threadIdx.x} * 8; c < call.width; c += kTokenThreads * 8) {
    float x[8];
    load_8(x, static_cast<const Number*>(call.weight_VD) + id * call.width + c);
#pragma unroll
    for (int j = 0; j < 8; ++j) x[j] *= call.scale;
    store_8(call.out_TD + token * call.width + c, x);
  }
}

__device__ __forceinline__ void add_token(const EmbedGradient& call, int64_t id, int64_t token) {
  for (int64_t c = int64_t{threadIdx.x} * 8; c < call.width; c += kTokenThreads * 8) {
    float sum[8], grad[8];
    load_8(sum, call.weight_grad_VD + id * call.width + c);
    load_8(grad, call.out_grad_TD + token * call.width + c);
#pragma unroll
    for (int j = 0; j < 8; ++j) sum[j] += call.scale * grad[j];
    store_8(call.weight_grad_VD + id * call.width + c, sum);
  }
}

__global__ void __launch_bounds__(kTokenThreads) add_token_gradients(EmbedGradient call) {
  SEEKRL_SHARED(float, parts, kTokenThreads / 32);
  SEEKRL_SHARED(int32_t, is_same, kTokenThreads);
  const int64_t token = blockIdx.x, id = call.ids_T[token];
  float stood_before = 0;
  for (int64_t i = threadIdx.x; i < token; i += kTokenThreads) {
    if (call.ids_T[i] == id) stood_before = 1;
  }
  if (reduce_block<Max, kTokenThreads>(stood_before, parts) > 0) return;
  for (int64_t first = token; first < call.num_tokens; first += kTokenThreads) {
    const int64_t i = first + threadIdx.x;
    const bool is_its = i < call.num_tokens && call.ids_T[i] == id;
    __syncthreads();
    is_same[threadIdx.x] = is_its ? 1 : 0;
    if (reduce_block<Max, kTokenThreads>(is_its ? 1.0f : 0.0f, parts) == 0) continue;
    for (int j = 0; j < kTokenThreads; ++j) {
      if (is_same[j] != 0) add_token(call, id, first + j);
    }
  }
}

// Taylor's, up to pi / 4: what is left out is less than half a unit of f64's last place.
__device__ __forceinline__ double sin_near_0(double x) {
  constexpr double kOver[] = {-1.0 / 6,        1.0 / 120,        -1.0 / 5040,         1.0 / 362880,
                              -1.0 / 39916800, 1.0 / 6227020800, -1.0 / 1307674368000};
  const double square = x * x;
  double sum = kOver[6];
#pragma unroll
  for (int i = 5; i >= 0; --i) sum = fma(sum, square, kOver[i]);
  return fma(sum * square, x, x);
}

__device__ __forceinline__ double cos_near_0(double x) {
  constexpr double kOver[] = {-1.0 / 2,       1.0 / 24,        -1.0 / 720,         1.0 / 40320,
                              -1.0 / 3628800, 1.0 / 479001600, -1.0 / 87178291200, 1.0 / 20922789888000};
  const double square = x * x;
  double sum = kOver[7];
#pragma unroll
  for (int i = 6; i >= 0; --i) sum = fma(sum, square, kOver[i]);
  return fma(sum, square, 1.0);
}

// Quarter turns are taken off with pi / 2 in two parts of 53 bits.
__global__ void __launch_bounds__(kTokenThreads) make_angles(RotaryAngles call) {
  const int64_t i = int64_t{blockIdx.x} * kTokenThreads + threadIdx.x;
  if (i >= call.num_tokens * call.num_frequencies) return;
  const auto position = static_cast<float>(call.positions_T[i / call.num_frequencies]);
  const double angle = position * call.frequencies_F[i % call.num_frequencies];
  const double turns = rint(angle * 0.63661977236758138);
  const double rest = fma(-turns, 6.123233995736766e-17, fma(-turns, 1.5707963267948966, angle));
  const double sin = sin_near_0(rest), cos = cos_near_0(rest);
  const int quarter = static_cast<int>(static_cast<int64_t>(turns) & 3);
  const double turned_cos = quarter % 2 == 0 ? cos : sin, turned_sin = quarter % 2 == 0 ? sin : cos;
  const double cos_sign = quarter == 1 || quarter == 2 ? -1 : 1, sin_sign = quarter >= 2 ? -1 : 1;
  call.cos_TF[i] = static_cast<float>(cos_sign * turned_cos * call.scale);
  call.sin_TF[i] = static_cast<float>(sin_sign * turned_sin * call.scale);
}

}  // namespace

Status embed(const Embed& call, void* stream) {
  if (call.num_tokens == 0) return nullptr;
  if (call.width % 8 != 0) return "embed: expected a width that is a multiple of 8";
  return with_number(call.dtype, "embed: expected a weight of 16 bits", [&]<class Number>() {
    return launch(&embed_tokens<Number>, dim3(blocks_of(call.num_tokens, 1)), dim3(kTokenThreads), 0, stream, call);
  });
}

Status embed_gradient(const EmbedGradient& call, void* stream) {
  if (call.num_tokens == 0) return nullptr;
  if (call.width % 8 != 0) return "embed: expected a width that is a multiple of 8";
  return launch(&add_token_gradients, dim3(blocks_of(call.num_tokens, 1)), dim3(kTokenThreads), 0, stream, call);
}

Status rotary_angles(const RotaryAngles& call, void* stream) {
  const int64_t count = call.num_tokens * call.num_frequencies;
  if (count == 0) return nullptr;
  return launch(&make_angles, dim3(blocks_of(count, kTokenThreads)), dim3(kTokenThreads), 0, stream, call);
}

}  // namespace seekrl::cuda
