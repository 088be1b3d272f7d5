// One block of threads: a tile of 64 rows and a key head. Keys and values of a leaf are in shared memory for all rows;
// a warp has 16 of them, and their sums in registers.
#pragma once

#include "kernels/cuda/attention/cached.cuh"
#include "kernels/cuda/attention/leaf.cuh"
#include "kernels/cuda/attention/prefill.h"

namespace seekrl::cuda {

constexpr int kPrefillThreads = kPrefillRows * 2;
// A warp fetches a tile of the leaf.
static_assert(kPrefillThreads / 32 == kLeafTiles);

// Columns of values at a time: a warp's registers hold two sums of 16 rows of so many.
template <int C>
constexpr int kValueColumns = C > 128 ? 128 : C;

// A warp's sums of 16 rows: lane l has rows l / 4 and l / 4 + 8.
template <int C>
struct RowParts {
  float out[C / 8][4] = {};
  float top[2] = {-INFINITY, -INFINITY};
  float sum[2] = {0, 0};
};

// What a block of threads walks.
struct PrefillWalk {
  TileRows rows;
  Reach seen, everyone;  // by some row, by every one
  int begin, end;        // leaves, four to a split

  __device__ __forceinline__ PrefillWalk(const PagedAttention& call, const AttentionTile& tile, int kv_head)
      : rows(call, tile, kv_head, false) {
    const Reach first = rows.reach(0), last = rows.reach(rows.count() - 1);
    seen = {first.first, last.last};
    everyone = {last.first, first.last};
    begin = seen.first / kSplitTokens * kLeaves;
    end = (seen.last + kSplitTokens - 1) / kSplitTokens * kLeaves;
    while (leaf(begin).first >= kLeafTiles) ++begin;
    while (leaf(end - 1).end == 0) --end;
  }
  __device__ __forceinline__ LeafTiles leaf(int i) const { return tiles_of(i / kLeaves, i % kLeaves, seen); }
};

// A leaf's keys are fetched while the values before them are multiplied, its values while its keys are.
template <int C, template <int> class Tile>
struct PrefillMemory {
  static constexpr bool kIsCoded = sizeof(Tile<C>) != sizeof(NumberTile<C>);
  alignas(16) uint16_t queries[kPrefillRows * kRowStride<C>];
  Tile<C> keys[kLeafTiles];
  Tile<kValueColumns<C>> values[kLeafTiles];
  PrefillWalk walk;  // registers are for sums
  alignas(16) uint16_t decoded[kIsCoded ? kLeafKeys * kRowStride<C> : 8];
};

// Each warp its tile; the block commits.
template <class Tile, int C>
__device__ __forceinline__ void fetch_leaf(Tile (&to)[kLeafTiles], const CacheSide<C>& from, const PagedAttention& call,
                                           const PrefillWalk& walk, int leaf) {
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const LeafTiles tiles = walk.leaf(leaf);
  if (leaf < walk.end && warp >= tiles.first && warp < tiles.end) {
    const int token = tiles.token + warp * kTileStep;
    fetch<1>(to[warp], from, place_of(call, walk.rows.tile, token, static_cast<int>(blockIdx.y)),
             walk.seen.last - token);
  }
  copy_async_commit();
}

// A leaf's rows in shared memory as products take them. The whole block calls.
template <class Number, int W>
__device__ __forceinline__ const uint16_t* ready(const NumberTile<W> (&from)[kLeafTiles], uint16_t* /*decoded*/,
                                                 const PrefillWalk& /*walk*/, const LeafTiles& /*tiles*/) {
  return from[0].rows;
}
template <class Number, int W>
__device__ __forceinline__ const uint16_t* ready(const CodeTile<W> (&from)[kLeafTiles], uint16_t* decoded,
                                                 const PrefillWalk& walk, const LeafTiles& tiles) {
  const int warp = static_cast<int>(threadIdx.x) / 32;
  if (warp >= tiles.first && warp < tiles.end) {
    decode<Number, 1>(decoded + warp * kKeyTile * kRowStride<W>, from[warp],
                      walk.seen.last - tiles.token - warp * kTileStep);
  }
  __syncthreads();
  return decoded;
}

// Calls body(is_there) where is_there(t) says whether the leaf has tile t: known when compiled for whole ones.
template <class Body>
__device__ __forceinline__ void with_tiles(const LeafTiles& tiles, const Body& body) {
  if (tiles.first == 0 && tiles.end == kLeafTiles) {
    body([](int) { return true; });
  } else {
    body([&](int t) { return t >= tiles.first && t < tiles.end; });
  }
}

template <class Number, int C>
__device__ __forceinline__ LeafWeights weigh_leaf(const PagedAttention& call, const PrefillWalk& walk, int first_row,
                                                  const LeafTiles& tiles, const uint16_t* queries,
                                                  const uint16_t* keys) {
  LeafScores scores = {};
  if (tiles.first == 0 && tiles.end == kLeafTiles) {
    multiply_rows<Number, C, kLeafKeys>(scores, queries, keys);
  } else {
#pragma unroll
    for (int t = 0; t < kLeafTiles; ++t) {
      if (t < tiles.first || t >= tiles.end) continue;
      multiply_rows<Number, C, kKeyTile>(tile_scores(scores, t), queries, keys + t * kKeyTile * kRowStride<C>);
    }
  }
  finish_scores(scores, call, walk.rows, first_row, walk.everyone, tiles.token);
  return weigh<Number>(scores);
}

// Joins a leaf to its split, a few columns at a time.
template <class Number, int W>
__device__ __forceinline__ void add_leaf(RowParts<W>& split, const LeafWeights& weights, const LeafTiles& tiles,
                                         const uint16_t* values) {
  constexpr int kWide = W % 32 == 0 ? 32 : 16;
  const Join joins[2] = {{split.top[0], weights.top[0]}, {split.top[1], weights.top[1]}};
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    split.top[r] = joins[r].top;
    split.sum[r] = joins[r](split.sum[r], weights.sum[r]);
  }
  with_tiles(tiles, [&](const auto& is_there) {
#pragma unroll
    for (int c = 0; c < W; c += kWide) {
      float part[kWide / 8][4] = {};
#pragma unroll
      for (int t = 0; t < kLeafTiles; ++t) {
        if (!is_there(t)) continue;
        multiply_columns<Number, W, kWide>(part, weights.pairs[t], values + t * kKeyTile * kRowStride<W>, c);
      }
#pragma unroll
      for (int i = 0; i < kWide / 2; ++i) {
        float& out = split.out[c / 8 + i / 4][i % 4];
        out = joins[i / 2 % 2](out, part[i / 4][i % 4]);
      }
    }
  });
}

// Joins a split to what is before it.
template <int W>
__device__ __forceinline__ void add_split(RowParts<W>& total, const RowParts<W>& split) {
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const Join join(total.top[r], split.top[r]);
    total.top[r] = join.top;
    total.sum[r] = join(total.sum[r], split.sum[r]);
#pragma unroll
    for (int i = 0; i < W / 4; ++i) {
      float& out = total.out[i / 2][2 * r + i % 2];
      out = join(out, split.out[i / 2][2 * r + i % 2]);
    }
  }
}

// The rows' sums over all keys, of the values' columns from `first_column` on.
template <class Number, int C, template <int> class Tile>
__device__ __forceinline__ RowParts<kValueColumns<C>> walk_keys(const PagedAttention& call,
                                                                PrefillMemory<C, Tile>& memory, int first_row,
                                                                int first_column) {
  const PrefillWalk& walk = memory.walk;
  const bool has_rows = first_row < walk.rows.count();
  RowParts<kValueColumns<C>> total, split;
  fetch_leaf(memory.keys, keys_of<C>(call), call, walk, walk.begin);
  for (int leaf = walk.begin; leaf < walk.end; ++leaf) {
    const LeafTiles tiles = walk.leaf(leaf);
    LeafWeights weights;
    copy_async_wait<0>();
    __syncthreads();
    fetch_leaf(memory.values, values_of<C>(call, first_column), call, walk, leaf);
    const uint16_t* const keys = ready<Number>(memory.keys, memory.decoded, walk, tiles);
    if (has_rows) {
      const uint16_t* const queries = memory.queries + first_row * kRowStride<C>;
      weights = weigh_leaf<Number, C>(call, walk, first_row, tiles, queries, keys);
    }
    copy_async_wait<0>();
    __syncthreads();
    fetch_leaf(memory.keys, keys_of<C>(call), call, walk, leaf + 1);
    const uint16_t* const values = ready<Number>(memory.values, memory.decoded, walk, tiles);
    if (has_rows) add_leaf<Number>(split, weights, tiles, values);
    if (leaf % kLeaves == kLeaves - 1 || leaf + 1 == walk.end) {
      add_split(total, split);
      split = {};
    }
  }
  return total;
}

template <class Number, int C>
__device__ __forceinline__ void store_rows(const PagedAttention& call, const TileRows& rows, int first_row,
                                           int first_column, const RowParts<kValueColumns<C>>& total) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const int row = first_row + lane / 4 + 8 * r;
    if (row >= rows.count()) continue;
    const int64_t place = rows.place(row);
    auto* const to = static_cast<Number*>(call.out) + place * C + first_column;
    store_row<Number, kValueColumns<C>>(to, total.out, r, 1.0f / total.sum[r]);
    if (lane % 4 == 0 && first_column == 0) store_log_sum(call, place, total.top[r], total.sum[r]);
  }
}

template <class Number, int C, template <int> class Tile>
__global__ void __launch_bounds__(kPrefillThreads) attend_prompts(PagedAttention call) {
  SEEKRL_DYNAMIC_SHARED(unsigned char, shared);
  auto& memory = *reinterpret_cast<PrefillMemory<C, Tile>*>(shared);
  const int first_row = static_cast<int>(threadIdx.x) / 32 * 16;
  // A prompt's last rows see the most keys and begin first.
  if (threadIdx.x == 0) {
    memory.walk = PrefillWalk(call, call.tiles[call.num_tiles - 1 - blockIdx.x], static_cast<int>(blockIdx.y));
  }
  __syncthreads();
  fetch_queries<C, kPrefillRows, kPrefillThreads>(memory.queries, call, memory.walk.rows);
  // Queries are read for all columns: out may be where they were.
#pragma unroll 1
  for (int column = 0; column < C; column += kValueColumns<C>) {
    store_rows<Number, C>(call, memory.walk.rows, first_row, column,
                          walk_keys<Number, C, Tile>(call, memory, first_row, column));
  }
}

}  // namespace seekrl::cuda
