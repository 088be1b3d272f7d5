// Tiles of cached keys and values on their way to shared memory, one to a warp.
#pragma once

#include "kernels/cuda/attention/leaf.cuh"
#include "kernels/cuda/attention/paged.h"
#include "kernels/cuda/attention/tile.h"
#include "kernels/cuda/e4m3.h"

namespace seekrl::cuda {

// The keys or the values of a tile's tokens, or C columns of them, as products take them.
template <int C>
struct NumberTile {
  uint16_t rows[kKeyTile * kRowStride<C>];
};

// The same as codes of 8 bits.
template <int C>
struct CodeTile {
  uint8_t codes[kKeyTile * C];
  float scales[kKeyTile];
};

// The cache's keys or values, kWidth columns wide, from a column on.
template <int kWidth>
struct CacheSide {
  const void* data;
  const float* scales;
  int first_column;
};
template <int kWidth>
__device__ __forceinline__ CacheSide<kWidth> keys_of(const PagedAttention& call) {
  return {call.keys, call.key_scales, 0};
}
template <int kWidth>
__device__ __forceinline__ CacheSide<kWidth> values_of(const PagedAttention& call, int first_column = 0) {
  return {call.values, call.value_scales, first_column};
}

// How many tokens' heads lie before a token's in the blocks.
__device__ __forceinline__ int64_t place_of(const PagedAttention& call, const AttentionTile& tile, int token,
                                            int head) {
  const auto block_tokens = static_cast<int>(call.block_tokens);
  const int block = call.block_table[tile.sequence * call.table_stride + token / block_tokens];
  return (block * call.num_kv_heads + head) * int64_t{block_tokens} + token % block_tokens;
}

// kUnroll: how many copies are one behind the other in code, fewer where registers are for sums.
//
// Numbers of tokens from the `count`-th on, which nobody may have written, become zeros: what no row attends over is
// multiplied too.
template <int kUnroll, int kWidth, int C>
__device__ __forceinline__ void fetch(NumberTile<C>& to, const CacheSide<kWidth>& from, int64_t place, int count) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const auto* const first = static_cast<const uint16_t*>(from.data) + place * kWidth + from.first_column;
#pragma unroll kUnroll
  for (int i = 0; i < C / 16; ++i) {
    const int chunk = i * 32 + lane, row = chunk / (C / 8), column = chunk % (C / 8) * 8;
    copy_async_16_or_zero(to.rows + row * kRowStride<C> + column, first + row * kWidth + column, row < count);
  }
}

template <int kUnroll, int kWidth, int C>
__device__ __forceinline__ void fetch(CodeTile<C>& to, const CacheSide<kWidth>& from, int64_t place, int /*count*/) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const auto* const first = static_cast<const uint8_t*>(from.data) + place * kWidth + from.first_column;
#pragma unroll kUnroll
  for (int i = 0; i < (kKeyTile * C + 511) / 512; ++i) {
    const int at = i * 512 + lane * 16;
    if (at >= kKeyTile * C) break;
    copy_async_16(to.codes + at, first + at / C * kWidth + at % C);
  }
  if (lane < kKeyTile / 4) copy_async_16(to.scales + lane * 4, from.scales + place + lane * 4);
}

// The numbers that codes stand for; rows from `count` on become zeros.
template <class Number, int kUnroll, int C>
__device__ __forceinline__ void decode(uint16_t* to, const CodeTile<C>& from, int count) {
#pragma unroll kUnroll
  for (int i = 0; i < (kKeyTile * C + 511) / 512; ++i) {
    const int at = i * 512 + static_cast<int>(threadIdx.x) % 32 * 16;
    if (at >= kKeyTile * C) break;
    const uint4 loaded = *reinterpret_cast<const uint4*>(from.codes + at);
    const uint32_t fours[4] = {loaded.x, loaded.y, loaded.z, loaded.w};
    const bool is_there = at / C < count;
    const float scale = is_there ? from.scales[at / C] : 0.0f;
    uint32_t pairs[8];
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      const uint32_t four = is_there ? fours[j / 2] : 0;
      pairs[j] = pack<Number>(unpack_e4m3(four, j % 2 * 2) * scale, unpack_e4m3(four, j % 2 * 2 + 1) * scale);
    }
    auto* const row = reinterpret_cast<uint4*>(to + at / C * kRowStride<C> + at % C);
    row[0] = uint4{pairs[0], pairs[1], pairs[2], pairs[3]};
    row[1] = uint4{pairs[4], pairs[5], pairs[6], pairs[7]};
  }
}

}  // namespace seekrl::cuda
