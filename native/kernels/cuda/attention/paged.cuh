// One block of threads: a tile of rows, a key head, a split of the keys. Each byte of the cache is read once a tile.
#pragma once

#include "kernels/cuda/attention/cached.cuh"
#include "kernels/cuda/attention/paged.h"
#include "kernels/cuda/attention/tile.h"

namespace seekrl::cuda {

// Wide heads leave shared memory for two.
template <int C>
constexpr int kWarps = C > 128 ? 2 : 4;
template <class Cache, int C>
constexpr int paged_shared_bytes() {
  const int tiles = kWarps<C> * static_cast<int>(sizeof(Cache)) + kTileRows * kRowStride<C> * 2;
  const int sums = kWarps<C> * kTileRows * (C + 2) * 4;
  return tiles > sums ? tiles : sums;
}

__host__ __device__ __forceinline__ int64_t end_row(const PagedAttention& call) {
  return call.end_row == 0 ? call.num_rows : call.end_row;
}

// Which tokens a row of the tile attends over: [first, last).
struct Reach {
  int first, last;
};
__device__ __forceinline__ Reach reach_of(const PagedAttention& call, const AttentionTile& tile, bool is_shared,
                                          int row, int group) {
  const int position = row / group;
  if (position >= tile.num_positions) return {0, 0};
  const int last = tile.num_keys + (is_shared ? 0 : position);
  const int first = call.window > 0 && last > call.window ? last - static_cast<int>(call.window) : 0;
  return {first, last};
}

template <class Number, int C>
__device__ __forceinline__ void add_tile(RowSums<C>& sums, const PagedAttention& call, const Reach (&reach)[2],
                                         const uint16_t* queries, const KeyTile<C>& tile, int token) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  float scores[kKeyTile / 8][4] = {};
  multiply_rows<Number, C, kKeyTile>(scores, queries, tile.keys);
#pragma unroll
  for (int i = 0; i < kKeyTile / 2; ++i) {
    float& score = scores[i / 4][i % 4];
    const int j = token + i / 4 * 8 + lane % 4 * 2 + i % 2, r = i / 2 % 2;
    score = j >= reach[r].first && j < reach[r].last ? score_of(call, score).value : -INFINITY;
  }
  add_keys<Number, C, kKeyTile>(sums, scores, tile.values);
}

// Where a split's sums of a row lie in scratch: C of values, then the top and the sum of the weights.
template <int C>
__device__ __forceinline__ float* part_of(const PagedAttention& call, int64_t row, int64_t head, int64_t num_splits,
                                          int64_t split) {
  return call.scratch + (((row - call.first_row) * call.num_heads + head) * num_splits + split) * (C + 2);
}

// The warps' sums are joined in the order of their numbers and written as the split's.
template <int C>
__device__ __forceinline__ void join_warps(const PagedAttention& call, const AttentionTile& tile, RowSums<C>& state,
                                           float* shared, int head, int group) {
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  constexpr int kStride = C + 2;
#pragma unroll
  for (int r = 0; r < 2; ++r) state.sum[r] = join_row(state.sum[r], Sum());
  __syncthreads();  // the tiles' memory is free
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    float* const row = shared + (warp * kTileRows + lane / 4 + i / 2 * 8) * kStride;
#pragma unroll
    for (int c = 0; c < C / 8; ++c) row[c * 8 + lane % 4 * 2 + i % 2] = state.out[c][i];
    if (lane % 4 == 0 && i % 2 == 0) {
      row[C] = state.top[i / 2];
      row[C + 1] = state.sum[i / 2];
    }
  }
  __syncthreads();
  const int num_rows = tile.num_positions * group, split = static_cast<int>(blockIdx.z);
  for (int i = static_cast<int>(threadIdx.x); i < num_rows * C; i += kWarps<C> * 32) {
    const int row = i / C, c = i % C;
    const float* const of_row = shared + row * kStride;
    float top = -INFINITY, sum = 0, out = 0;
    for (int w = 0; w < kWarps<C>; ++w) top = fmaxf(top, of_row[w * kTileRows * kStride + C]);
    for (int w = 0; w < kWarps<C>; ++w) {
      const float* const part = of_row + w * kTileRows * kStride;
      const float factor = part[C] == -INFINITY ? 0.0f : exp2f(part[C] - top);
      out += factor * part[c];
      sum += factor * part[C + 1];
    }
    float* const to = part_of<C>(call, tile.first_row + row / group, head * group + row % group, gridDim.z, split);
    to[c] = out;
    if (c == 0) {
      to[C] = top;
      to[C + 1] = sum;
    }
  }
}

template <class Number, int C, class Cache>
__global__ void __launch_bounds__(kWarps<C> * 32) attend_split(PagedAttention call) {
  SEEKRL_DYNAMIC_SHARED(unsigned char, shared);
  const bool is_shared = blockIdx.x >= call.num_tiles;
  const AttentionTile tile = is_shared ? call.shared_tiles[blockIdx.x - call.num_tiles] : call.tiles[blockIdx.x];
  const int begin = static_cast<int>(blockIdx.z) * kSplitTokens;
  // A shared tile has the splits of its keys, the others those behind them.
  const int shared_keys = is_shared                       ? tile.num_keys
                          : call.shared_keys_S != nullptr ? call.shared_keys_S[tile.sequence]
                                                          : 0;
  if (is_shared != (begin < shared_keys)) return;
  const int head = static_cast<int>(blockIdx.y), group = static_cast<int>(call.num_heads / call.num_kv_heads);
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  Cache& cache = reinterpret_cast<Cache*>(shared)[warp];
  auto* const queries = reinterpret_cast<uint16_t*>(reinterpret_cast<Cache*>(shared) + kWarps<C>);
  // Rows past the tile's are zero, and reach no token.
  for (int i = static_cast<int>(threadIdx.x); i < kTileRows * (C / 8); i += kWarps<C> * 32) {
    const int row = i / (C / 8), column = i % (C / 8) * 8;
    const bool is_there = row < tile.num_positions * group;
    const int64_t from = ((tile.first_row + row / group) * call.num_heads + head * group + row % group) * C + column;
    copy_async_16_or_zero(queries + row * kRowStride<C> + column,
                          static_cast<const uint16_t*>(call.query) + (is_there ? from : 0), is_there);
  }
  copy_async_commit();
  copy_async_wait<0>();
  __syncthreads();

  const auto reach_at = [&](int row) { return reach_of(call, tile, is_shared, row, group); };
  const Reach first = reach_at(0), last = reach_at((tile.num_positions - 1) * group);
  const Reach reach[2] = {reach_at(lane / 4), reach_at(lane / 4 + 8)};
  const int end = min(begin + kSplitTokens, last.last);
  const auto token_of = [&](int n) { return begin + (n * kWarps<C> + warp) * kKeyTile; };
  // Tiles before every row's window are not read: they change no bit.
  int next = 0;
  while (token_of(next) + kKeyTile <= first.first) ++next;
  const auto fetch_next = [&](int n) {
    if (token_of(n) < end) {
      fetch<C>(call, cache.tiles[n % 2], place_of(call, tile, token_of(n), head), end - token_of(n));
    }
    copy_async_commit();
  };
  RowSums<C> state;
  fetch_next(next);
  for (int n = next; token_of(n) < end; ++n) {
    fetch_next(n + 1);
    copy_async_wait<1>();
    __syncwarp();
    add_tile<Number, C>(state, call, reach, queries, cache.ready(n % 2, end - token_of(n)), token_of(n));
    __syncwarp();
  }
  copy_async_wait<0>();
  join_warps<C>(call, tile, state, reinterpret_cast<float*>(shared), head, group);
}

// A warp: one row of one head; splits are joined in order.
template <class Number, int C>
__global__ void __launch_bounds__(128) join_splits(PagedAttention call, int num_splits) {
  const int64_t row = call.first_row * call.num_heads + int64_t{blockIdx.x} * 4 + threadIdx.x / 32;
  if (row >= end_row(call) * call.num_heads) return;
  const float* const parts = part_of<C>(call, row / call.num_heads, row % call.num_heads, num_splits, 0);
  float top = -INFINITY, sum = 0;
  for (int i = 0; i < num_splits; ++i) top = fmaxf(top, parts[i * (C + 2) + C]);
  const auto factor = [&](int i) {
    const float own = parts[i * (C + 2) + C];
    return own == -INFINITY ? 0.0f : exp2f(own - top);
  };
  for (int i = 0; i < num_splits; ++i) sum += factor(i) * parts[i * (C + 2) + C + 1];
  if (call.log_sum_HT != nullptr && threadIdx.x % 32 == 0) {
    call.log_sum_HT[row % call.num_heads * call.num_rows + row / call.num_heads] = top + log2f(sum);
  }
  auto* const out = static_cast<Number*>(call.out) + row * C;
  for (int c = static_cast<int>(threadIdx.x) % 32; c < C; c += 32) {
    float value = 0;
    for (int i = 0; i < num_splits; ++i) value += factor(i) * parts[i * (C + 2) + c];
    out[c] = from_float<Number>(value / sum);
  }
}

}  // namespace seekrl::cuda
