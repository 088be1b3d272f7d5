// Forward: a block of threads has a tile of rows and a head, each warp 16 rows; keys pass by in tiles.
#pragma once

#include "kernels/cuda/attention/span.h"
#include "kernels/cuda/attention/tile.h"
#include "kernels/cuda/reduce.h"

namespace seekrl::cuda {

constexpr int kSpanWarps = 4, kSpanThreads = kSpanWarps * 32;
static_assert(kSpanTileRows == kSpanWarps * 16);

// Keys of a tile, and how many tiles are in shared memory at once; wide heads leave room for less.
template <int C>
constexpr int kSpanKeys = C > 96 ? 32 : 64;
template <int C>
constexpr int kSpanStages = C > 128 ? 1 : 2;

template <int C>
constexpr int kSpanSharedBytes = (kSpanTileRows + 2 * kSpanStages<C> * kSpanKeys<C>)*kRowStride<C> * 2;

// Token `token`'s numbers of one head.
__device__ __forceinline__ const uint16_t* head_at(const SpanHeads& heads, int64_t token, int64_t head, int64_t width) {
  return static_cast<const uint16_t*>(heads.data) + token * heads.stride + head * width;
}

// The rows of a tile, one head of them, to shared memory; zeros behind the last.
template <int C>
__device__ __forceinline__ void fetch_tile(uint16_t* to, const SpanHeads& from, const SpanTile& tile, int64_t head) {
  fetch_rows<C, kSpanTileRows, kSpanThreads>(
      to, [&](int row) { return row < tile.count ? head_at(from, tile.first + row, head, C) : nullptr; });
}

// The position of a tile's first row and the keys that its rows see.
struct SpanRange {
  int first_position;        // of the rows
  int last_key;              // that any of them sees
  int first_tile, end_tile;  // of keys
};
template <int kKeys>
__device__ __forceinline__ SpanRange range_of(const SpanAttention& call, const SpanTile& tile) {
  const int first = call.position_T[tile.first];
  const int length = call.path_start_S[tile.span + 1] - call.path_start_S[tile.span];
  const int last = (call.is_causal ? first + tile.count : length) - 1;
  const int first_key = call.window > 0 ? max(0, first + 1 - static_cast<int>(call.window)) : 0;
  return {first, last, first_key / kKeys, last / kKeys + 1};
}

__device__ __forceinline__ bool sees(const SpanAttention& call, int row_position, int key_position) {
  return key_position <= row_position && (call.window == 0 || row_position - key_position < call.window);
}

// What a block of threads works on: its tile of rows, their head, and where its tiles lie in shared memory.
template <int C>
struct SpanWork {
  static constexpr int kKeys = kSpanKeys<C>, kStages = kSpanStages<C>, kTileSize = kKeys * kRowStride<C>;

  __device__ SpanWork(const SpanAttention& call, uint16_t* shared)
      : tile(call.tiles[blockIdx.x]),
        range(range_of<kKeys>(call, tile)),
        path(call.path + call.path_start_S[tile.span]),
        head(blockIdx.y),
        kv_head(head / (call.num_heads / call.num_kv_heads)),
        rows(shared),
        keys(shared + kSpanTileRows * kRowStride<C>),
        values(keys + kStages * kTileSize) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    first_row = static_cast<int>(threadIdx.x) / 32 * 16;
    for (int r = 0; r < 2; ++r) {
      const int row = first_row + lane / 4 + r * 8;
      last_seen[r] = row >= tile.count ? -1 : call.is_causal ? range.first_position + row : range.last_key;
    }
  }

  // Keys and values of tile t, whose last rows may be none.
  __device__ void fetch(const SpanAttention& call, int t) {
    const auto bring = [&](uint16_t* to, const SpanHeads& from) {
      fetch_rows<C, kKeys, kSpanThreads>(to + t % kStages * kTileSize, [&](int row) {
        const int place = t * kKeys + row;
        return place <= range.last_key ? head_at(from, path[place], kv_head, C) : nullptr;
      });
    };
    if (t < range.end_tile) {
      bring(keys, call.key_TKC);
      bring(values, call.value_TKC);
    }
    copy_async_commit();
  }

  const SpanTile tile;
  const SpanRange range;
  const int32_t* const path;
  const int64_t head, kv_head;
  uint16_t *const rows, *const keys, *const values;
  int first_row;     // of this warp
  int last_seen[2];  // positions of the last keys that this lane's rows see, if causal their own; negative: no row
};

// Calls `take(t, keys, values)` for each tile that is there, the next one on its way meanwhile.
template <int C, class Take>
__device__ __forceinline__ void for_each_tile(SpanWork<C>& work, const SpanAttention& call, const Take& take) {
  constexpr int kStages = SpanWork<C>::kStages;
  if (kStages > 1) work.fetch(call, work.range.first_tile);
  for (int t = work.range.first_tile; t < work.range.end_tile; ++t) {
    work.fetch(call, t + kStages - 1);
    copy_async_wait<kStages - 1>();
    __syncthreads();
    const int at = t % kStages * SpanWork<C>::kTileSize;
    take(t, work.keys + at, work.values + at);
    __syncthreads();
  }
  copy_async_wait<0>();
}

template <class Number, int C>
__global__ void __launch_bounds__(kSpanThreads, 1) attend_spans(SpanAttention call) {
  SEEKRL_DYNAMIC_SHARED(uint16_t, shared);
  constexpr int kKeys = kSpanKeys<C>;
  SpanWork<C> work(call, shared);
  const int lane = static_cast<int>(threadIdx.x) % 32;
  fetch_tile<C>(work.rows, call.query_THC, work.tile, work.head);
  RowSums<C> sums;
  for_each_tile(work, call, [&](int t, const uint16_t* keys, const uint16_t* values) {
    float scores[kKeys / 8][4] = {};
    multiply_rows<Number, C, kKeys>(scores, work.rows + work.first_row * kRowStride<C>, keys);
#pragma unroll
    for (int i = 0; i < kKeys / 2; ++i) {
      float& score = scores[i / 4][i % 4];
      const int key = t * kKeys + i / 4 * 8 + lane % 4 * 2 + i % 2;
      score = sees(call, work.last_seen[i / 2 % 2], key) ? score_of(call, score).value : -INFINITY;
    }
    add_keys<Number, C, kKeys>(sums, scores, values);
  });
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const float sum = join_row(sums.sum[r], Sum());
    if (work.last_seen[r] < 0) continue;
    const int64_t token = work.tile.first + work.first_row + lane / 4 + r * 8;
    auto* const out = static_cast<Number*>(call.out_THC) + (token * call.num_heads + work.head) * C;
    store_row<Number, C>(out, sums.out, r, 1.0f / sum);
    if (lane % 4 == 0 && call.log_sum_HT != nullptr) {
      call.log_sum_HT[work.head * call.num_tokens + token] = sums.top[r] + log2f(sum);
    }
  }
}

}  // namespace seekrl::cuda
