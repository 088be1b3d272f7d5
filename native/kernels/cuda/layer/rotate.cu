// A warp: one head of one token.
#include "kernels/cuda/e4m3.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/layer/head.cuh"
#include "kernels/cuda/layer/rotate.h"

namespace seekrl::cuda {

namespace {

// How many heads of C numbers lie before a token's in the blocks; negative: it is not kept.
__device__ __forceinline__ int64_t place_in_blocks(const Rotate& call, int64_t token, int64_t head) {
  const int64_t slot = call.slots_T[token];
  if (slot < 0) return slot;
  const int64_t block = slot / call.block_tokens, place = slot % call.block_tokens;
  return (block * call.num_kv_heads + head) * call.block_tokens + place;
}

// Of sizes, in which what is not a number is the largest.
struct Largest {
  __device__ __forceinline__ float operator()(float a, float b) const { return bits_of(a) > bits_of(b) ? a : b; }
};

__device__ __forceinline__ void store_codes(void* codes, float* scales, int64_t place, const float2 (&x)[kPairs],
                                            int width) {
  float largest = 0;
  each_pair(width, [&](int i, int) { largest = Largest()(largest, Largest()(fabsf(x[i].x), fabsf(x[i].y))); });
  const float scale = e4m3_scale(reduce_warp<Largest>(largest)), inverse = 1.0f / scale;
  each_pair(width, [&](int i, int c) {
    const uint32_t low = from_float<E4m3>(x[i].x * inverse).bits, high = from_float<E4m3>(x[i].y * inverse).bits;
    *reinterpret_cast<uint16_t*>(static_cast<uint8_t*>(codes) + place * width + c) = low | high << 8;
  });
  if (threadIdx.x % 32 == 0) scales[place] = scale;
}

template <class Number>
__device__ __forceinline__ void norm_head(float2 (&x)[kPairs], const Rotate& call, const void* norm, int width) {
  const float scale = norm_scale(x, width, call.norm_epsilon);
  each_pair(width, [&](int i, int c) {
    const float2 weight = pair_at<Number>(norm, c);
    x[i].x *= scale * (weight.x + call.norm_offset);
    x[i].y *= scale * (weight.y + call.norm_offset);
  });
}

template <class Number>
__global__ void __launch_bounds__(kHeadWarps * 32) rotate_heads(Rotate call) {
  SEEKRL_SHARED(float, channels, kHeadWarps* kMaxHeadDim);
  const int64_t num_items = call.num_heads + 2 * call.num_kv_heads, warp = threadIdx.x / 32;
  const int64_t item = int64_t{blockIdx.x} * kHeadWarps + warp, token = item / num_items, of_token = item % num_items;
  if (token >= call.num_tokens) return;
  const auto width = static_cast<int>(call.head_dim);
  const bool is_query = of_token < call.num_heads, is_value = of_token >= call.num_heads + call.num_kv_heads;
  const ProjectedHeads& part = is_query ? call.query : is_value ? call.value : call.key;
  const int64_t head = is_query ? of_token : (of_token - call.num_heads) % call.num_kv_heads;
  const bool stays = is_query || call.keys == nullptr;
  const int64_t place = stays ? 0 : place_in_blocks(call, token, head);
  if (place < 0 || (stays && is_value && part.bias == nullptr)) return;
  float2 x[kPairs];
  load_head<Number>(x, part, token, head, width);
  if (part.norm != nullptr) norm_head<Number>(x, call, part.norm, width);
  if (!is_value && call.rotary.num_frequencies > 0) {
    turn(x, call.rotary, token, 1, width, channels + warp * kMaxHeadDim);
  }
  void* const blocks = is_value ? call.values : call.keys;
  if (stays) {
    store_head<Number>(part.data, token * part.stride + head * width, x, width);
  } else if (call.key_scales != nullptr) {
    store_codes(blocks, is_value ? call.value_scales : call.key_scales, place, x, width);
  } else {
    store_head<Number>(blocks, place * width, x, width);
  }
}

bool are_heads(const ProjectedHeads& part) {
  return are_aligned<4>({part.data, part.bias, part.norm}) && part.stride % 2 == 0;
}

}  // namespace

Status rotate(const Rotate& call, void* stream) {
  if (call.num_tokens == 0) return nullptr;
  if (call.head_dim % 2 != 0 || call.head_dim > kMaxHeadDim) return "rotate: expected an even head width up to 256";
  if (!are_heads(call.query) || !are_heads(call.key) || !are_heads(call.value) ||
      !are_aligned<4>({call.keys, call.values}))
    return "rotate: expected pairs of numbers at multiples of 4 bytes";
  const int64_t num_items = call.num_tokens * (call.num_heads + 2 * call.num_kv_heads);
  return with_number(call.dtype, "rotate: expected numbers of 16 bits", [&]<class Number>() {
    return launch(&rotate_heads<Number>, dim3(blocks_of(num_items, kHeadWarps)), dim3(kHeadWarps * 32), 0, stream,
                  call);
  });
}

}  // namespace seekrl::cuda
