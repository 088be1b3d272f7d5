// A warp: one head of one token. Lane l has channels 2 l and 2 l + 1 of each 64.
#include "kernels/cuda/launch.h"
#include "kernels/cuda/layer/rotate.h"
#include "kernels/cuda/number.h"
#include "kernels/cuda/reduce.h"

namespace seekrl::cuda {

namespace {

constexpr int kRotateWarps = 4, kMaxHeadDim = 256, kPairs = kMaxHeadDim / 64;

template <class Number>
__device__ __forceinline__ float2 pair_at(const void* numbers, int64_t at) {
  const uint32_t pair = *reinterpret_cast<const uint32_t*>(static_cast<const Number*>(numbers) + at);
  return {unpack<Number>(pair, 0), unpack<Number>(pair, 1)};
}

// The head's channels with bias and norm.
template <class Number>
__device__ __forceinline__ void load_head(float2 (&x)[kPairs], const RotateAndWrite& call, const ProjectedHeads& part,
                                          int64_t token, int64_t head) {
  const auto width = static_cast<int>(call.head_dim), lane = static_cast<int>(threadIdx.x) % 32;
  float squares = 0;
#pragma unroll
  for (int i = 0; i < kPairs; ++i) {
    const int c = i * 64 + lane * 2;
    if (c >= width) continue;
    x[i] = pair_at<Number>(part.data, token * part.stride + head * width + c);
    if (part.bias != nullptr) {
      const float2 bias = pair_at<Number>(part.bias, head * width + c);
      x[i].x += bias.x;
      x[i].y += bias.y;
    }
    squares += x[i].x * x[i].x + x[i].y * x[i].y;
  }
  if (part.norm == nullptr) return;
  const float scale = rsqrtf(reduce_warp<Sum>(squares) / static_cast<float>(width) + call.norm_epsilon);
#pragma unroll
  for (int i = 0; i < kPairs; ++i) {
    const int c = i * 64 + lane * 2;
    if (c >= width) continue;
    const float2 weight = pair_at<Number>(part.norm, c);
    x[i].x *= scale * (weight.x + call.norm_offset);
    x[i].y *= scale * (weight.y + call.norm_offset);
  }
}

// A channel's partner lies F away, in another lane: through the warp's part of shared memory.
__device__ __forceinline__ void rotate(float2 (&x)[kPairs], const RotateAndWrite& call, int64_t token, float* shared) {
  const int width = static_cast<int>(call.head_dim), lane = static_cast<int>(threadIdx.x) % 32;
  const int half = static_cast<int>(call.num_frequencies);
  const int64_t angles = call.positions_T[token] * int64_t{half};
#pragma unroll
  for (int i = 0; i < kPairs; ++i) {
    const int c = i * 64 + lane * 2;
    if (c < width) *reinterpret_cast<float2*>(shared + c) = x[i];
  }
  __syncwarp();
  const auto turned = [&](int c, float own) {
    if (c >= 2 * half) return own;
    const int f = c < half ? c : c - half;
    const float partner = shared[c < half ? c + half : c - half];
    const float sin = call.sin_PF[angles + f];
    return own * call.cos_PF[angles + f] + (c < half ? -partner * sin : partner * sin);
  };
#pragma unroll
  for (int i = 0; i < kPairs; ++i) {
    const int c = i * 64 + lane * 2;
    if (c >= width) continue;
    x[i].x = turned(c, x[i].x);
    x[i].y = turned(c + 1, x[i].y);
  }
}

template <class Number>
__device__ __forceinline__ void store_head(Number* to, const float2 (&x)[kPairs], int width) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
  for (int i = 0; i < kPairs; ++i) {
    const int c = i * 64 + lane * 2;
    if (c < width) *reinterpret_cast<uint32_t*>(to + c) = pack<Number>(x[i].x, x[i].y);
  }
}

template <class Number>
__global__ void __launch_bounds__(kRotateWarps * 32) rotate_heads(RotateAndWrite call) {
  SEEKRL_SHARED(float, channels, kRotateWarps* kMaxHeadDim);
  const int64_t heads = call.num_heads + 2 * call.num_kv_heads, warp = threadIdx.x / 32;
  const int64_t item = int64_t{blockIdx.x} * kRotateWarps + warp, token = item / heads, width = call.head_dim;
  if (token >= call.num_tokens) return;
  const int64_t head = item % heads, kv_head = (head - call.num_heads) % call.num_kv_heads;
  const bool is_query = head < call.num_heads, is_value = head >= call.num_heads + call.num_kv_heads;
  const ProjectedHeads& part = is_query ? call.query : is_value ? call.value : call.key;
  float2 x[kPairs];
  load_head<Number>(x, call, part, token, is_query ? head : kv_head);
  if (!is_value && call.num_frequencies > 0) rotate(x, call, token, channels + warp * kMaxHeadDim);
  if (is_query) {
    store_head(static_cast<Number*>(part.data) + token * part.stride + head * width, x, static_cast<int>(width));
    return;
  }
  const int64_t slot = call.slots_T[token];
  if (slot < 0) return;
  const int64_t block = slot / call.block_tokens, place = slot % call.block_tokens;
  const int64_t to = ((block * call.num_kv_heads + kv_head) * call.block_tokens + place) * width;
  store_head(static_cast<Number*>(is_value ? call.values : call.keys) + to, x, static_cast<int>(width));
}

template <class Number>
Status launch_rotate(const RotateAndWrite& call, void* stream) {
  const int64_t num_items = call.num_tokens * (call.num_heads + 2 * call.num_kv_heads);
  return launch(&rotate_heads<Number>, dim3(blocks_of(num_items, kRotateWarps)), dim3(kRotateWarps * 32), 0, stream,
                call);
}

}  // namespace

Status rotate_and_write(const RotateAndWrite& call, void* stream) {
  if (call.num_tokens == 0) return nullptr;
  if (call.head_dim % 2 != 0 || call.head_dim > kMaxHeadDim) return "rotate: expected an even head width up to 256";
  return with_number(call.dtype, "rotate: expected numbers of 16 bits",
                     [&]<class Number>() { return launch_rotate<Number>(call, stream); });
}

}  // namespace seekrl::cuda
