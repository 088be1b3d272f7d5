// Tiles of cached keys and values on their way to a warp's shared memory.
#pragma once

#include "kernels/cuda/attention/paged.h"
#include "kernels/cuda/attention/tile.h"
#include "kernels/cuda/e4m3.h"

namespace seekrl::cuda {

constexpr int kKeyTile = 16;

// The keys and values of one tile of tokens, as products take them.
template <int C>
struct KeyTile {
  uint16_t keys[kKeyTile * kRowStride<C>];
  uint16_t values[kKeyTile * kRowStride<C>];
};

// The same as codes of 8 bits.
template <int C>
struct CodeTile {
  uint8_t keys[kKeyTile * C], values[kKeyTile * C];
  float key_scales[kKeyTile], value_scales[kKeyTile];
};

// How many tokens' heads lie before a token's in the blocks.
__device__ __forceinline__ int64_t place_of(const PagedAttention& call, const AttentionTile& tile, int token,
                                            int head) {
  const auto block_tokens = static_cast<int>(call.block_tokens);
  const int block = call.block_table[tile.sequence * call.table_stride + token / block_tokens];
  return (block * call.num_kv_heads + head) * int64_t{block_tokens} + token % block_tokens;
}

// Values of tokens from the `count`-th on, which nobody may have written, become zeros: what no row attends over is
// multiplied too.
template <int C>
__device__ __forceinline__ void fetch(const PagedAttention& call, KeyTile<C>& to, int64_t place, int count) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
  for (int i = 0; i < C / 16; ++i) {
    const int chunk = i * 32 + lane, row = chunk / (C / 8), column = chunk % (C / 8) * 8;
    const int64_t at = (place + row) * C + column;
    copy_async_16(to.keys + row * kRowStride<C> + column, static_cast<const uint16_t*>(call.keys) + at);
    copy_async_16_or_zero(to.values + row * kRowStride<C> + column, static_cast<const uint16_t*>(call.values) + at,
                          row < count);
  }
}

template <int C>
__device__ __forceinline__ void fetch(const PagedAttention& call, CodeTile<C>& to, int64_t place, int /*count*/) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
  for (int at = lane * 16; at < kKeyTile * C; at += 512) {
    copy_async_16(to.keys + at, static_cast<const uint8_t*>(call.keys) + place * C + at);
    copy_async_16(to.values + at, static_cast<const uint8_t*>(call.values) + place * C + at);
  }
  if (lane >= kKeyTile / 4) return;
  copy_async_16(to.key_scales + lane * 4, call.key_scales + place + lane * 4);
  copy_async_16(to.value_scales + lane * 4, call.value_scales + place + lane * 4);
}

// Rows from `count` on become zeros.
template <class Number, int C>
__device__ __forceinline__ void decode(uint16_t* to, const uint8_t* codes, const float* scales, int count) {
#pragma unroll
  for (int at = static_cast<int>(threadIdx.x) % 32 * 16; at < kKeyTile * C; at += 512) {
    const uint4 loaded = *reinterpret_cast<const uint4*>(codes + at);
    const uint32_t fours[4] = {loaded.x, loaded.y, loaded.z, loaded.w};
    const bool is_there = at / C < count;
    const float scale = is_there ? scales[at / C] : 0.0f;
    uint32_t pairs[8];
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const uint32_t four = is_there ? fours[i / 2] : 0;
      pairs[i] = pack<Number>(unpack_e4m3(four, i % 2 * 2) * scale, unpack_e4m3(four, i % 2 * 2 + 1) * scale);
    }
    auto* const row = reinterpret_cast<uint4*>(to + at / C * kRowStride<C> + at % C);
    row[0] = uint4{pairs[0], pairs[1], pairs[2], pairs[3]};
    row[1] = uint4{pairs[4], pairs[5], pairs[6], pairs[7]};
  }
}

// What a warp keeps of the cache: two tiles as they are fetched, and where they are codes, one as products take them.
template <class Number, int C>
struct PlainCache {
  using Tile = KeyTile<C>;
  Tile tiles[2];

  __device__ __forceinline__ const KeyTile<C>& ready(int i, int /*count*/) { return tiles[i]; }
};

template <class Number, int C>
struct CodedCache {
  using Tile = CodeTile<C>;
  Tile tiles[2];
  KeyTile<C> decoded;

  // The whole warp calls.
  __device__ __forceinline__ const KeyTile<C>& ready(int i, int count) {
    decode<Number, C>(decoded.keys, tiles[i].keys, tiles[i].key_scales, count);
    decode<Number, C>(decoded.values, tiles[i].values, tiles[i].value_scales, count);
    __syncwarp();
    return decoded;
  }
};

}  // namespace seekrl::cuda
