// One block of threads: a tile of rows, a key head, a split of the keys, of which each warp has a leaf. Each byte of
// the cache is read once a tile.
#pragma once

#include "kernels/cuda/attention/cached.cuh"
#include "kernels/cuda/attention/leaf.cuh"
#include "kernels/cuda/attention/paged.h"

namespace seekrl::cuda {

constexpr int kSplitThreads = kLeaves * 32;

// Tiles of keys or values on their way to a warp; wide heads leave shared memory for two.
template <int C>
constexpr int kRing = C > 128 ? 2 : 4;

// And registers for the addresses of few copies.
template <int C>
constexpr int kUnroll = C > 96 ? 1 : 8;

// What a warp keeps of the cache: tiles as they are fetched, and where they are codes, one as products take it.
template <class Number, int C>
struct PlainRing {
  static constexpr int kBlocks = 0;  // that a multiprocessor must hold; 0: as many as it does by itself
  NumberTile<C> tiles[kRing<C>];

  __device__ __forceinline__ const uint16_t* ready(int i, int /*count*/) { return tiles[i].rows; }
};
template <class Number, int C>
struct CodedRing {
  static constexpr int kBlocks = C > 128 ? 3 : 0;
  CodeTile<C> tiles[kRing<C>];
  uint16_t decoded[kKeyTile * kRowStride<C>];

  // The whole warp calls.
  __device__ __forceinline__ const uint16_t* ready(int i, int count) {
    decode<Number, kUnroll<C>>(decoded, tiles[i], count);
    __syncwarp();
    return decoded;
  }
};

// A part of a row: C of values, then the top and the sum of the weights.
template <int C>
constexpr int kPartFloats = C + 2;

template <class Ring, int C>
constexpr int split_shared_bytes() {
  const int tiles = kLeaves * static_cast<int>(sizeof(Ring)) + kTileRows * kRowStride<C> * 2;
  const int parts = kLeaves * kTileRows * kPartFloats<C> * 4;
  return tiles > parts ? tiles : parts;
}

__host__ __device__ __forceinline__ int64_t end_row(const PagedAttention& call) {
  return call.end_row == 0 ? call.num_rows : call.end_row;
}

// Where a split's part of a row lies in scratch; place: of TileRows.
template <int C>
__device__ __forceinline__ float* part_of(const PagedAttention& call, int64_t place, int64_t num_splits,
                                          int64_t split) {
  return call.scratch + ((place - call.first_row * call.num_heads) * num_splits + split) * kPartFloats<C>;
}

// What a warp makes of a leaf: relative to its weights' tops.
template <int C>
struct LeafPart {
  float out[C / 8][4] = {};
  float top[2] = {-INFINITY, -INFINITY};
  float sum[2] = {0, 0};
};

// What passes by of a warp's leaf: the keys of its tiles, then their values. Tiles of which no row sees a key are
// zeros.
template <int C, class Ring>
struct LeafPieces {
  const PagedAttention& call;
  Ring& ring;
  int64_t places[kLeafTiles];
  int counts[kLeafTiles];  // of tokens

  // end: of the tokens that some row sees.
  __device__ __forceinline__ LeafPieces(const PagedAttention& call, const AttentionTile& tile, const LeafTiles& tiles,
                                        int end, Ring& ring)
      : call(call), ring(ring) {
#pragma unroll
    for (int t = 0; t < kLeafTiles; ++t) {
      const int token = tiles.token + t * kTileStep;
      const bool is_there = t >= tiles.first && t < tiles.end;
      places[t] = is_there ? place_of(call, tile, token, static_cast<int>(blockIdx.y)) : 0;
      counts[t] = is_there ? end - token : 0;
    }
  }
  __device__ __forceinline__ void fetch_piece(int piece) const {
    if (piece < 2 * kLeafTiles) {
      const int t = piece % kLeafTiles;
      fetch<kUnroll<C>>(ring.tiles[piece % kRing<C>], piece < kLeafTiles ? keys_of<C>(call) : values_of<C>(call),
                        places[t], counts[t]);
    }
    copy_async_commit();
  }
  __device__ __forceinline__ const uint16_t* ready(int piece) const {
    return ring.ready(piece % kRing<C>, counts[piece % kLeafTiles]);
  }
};

template <class Number, int C, class Ring>
__device__ __forceinline__ LeafPart<C> take_leaf(const LeafPieces<C, Ring>& pieces, const TileRows& rows,
                                                 const uint16_t* queries, const Reach& everyone, int token) {
  LeafPart<C> part;
  LeafScores scores = {};
  LeafWeights weights;
#pragma unroll
  for (int piece = 0; piece < kRing<C>; ++piece) pieces.fetch_piece(piece);
#pragma unroll
  for (int piece = 0; piece < 2 * kLeafTiles; ++piece) {
    if (piece == kLeafTiles) {
      finish_scores(scores, pieces.call, rows, 0, everyone, token);
      weights = weigh<Number>(scores);
    }
    copy_async_wait<kRing<C> - 1>();
    __syncwarp();
    const uint16_t* const tile = pieces.ready(piece);
    if (piece < kLeafTiles) {
      multiply_rows<Number, C, kKeyTile>(tile_scores(scores, piece), queries, tile);
    } else {
      multiply_columns<Number, C, C>(part.out, weights.pairs[piece % kLeafTiles], tile, 0);
    }
    __syncwarp();
    pieces.fetch_piece(piece + kRing<C>);
  }
  copy_async_wait<0>();
  for (int r = 0; r < 2; ++r) {
    part.top[r] = weights.top[r];
    part.sum[r] = weights.sum[r];
  }
  return part;
}

// The warps' parts are joined and written as the split's.
template <int C>
__device__ __forceinline__ void join_leaves(const PagedAttention& call, const TileRows& rows, const LeafPart<C>& part,
                                            float* shared) {
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  constexpr int kStride = kPartFloats<C>;
  __syncthreads();  // the tiles' memory is free
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    float* const row = shared + (warp * kTileRows + lane / 4 + i / 2 * 8) * kStride;
#pragma unroll
    for (int c = 0; c < C / 8; ++c) row[c * 8 + lane % 4 * 2 + i % 2] = part.out[c][i];
    if (lane % 4 == 0 && i % 2 == 0) {
      row[C] = part.top[i / 2];
      row[C + 1] = part.sum[i / 2];
    }
  }
  __syncthreads();
  for (int i = static_cast<int>(threadIdx.x); i < rows.count() * C; i += kSplitThreads) {
    const int row = i / C, c = i % C;
    float top = -INFINITY, sum = 0, out = 0;
#pragma unroll
    for (int leaf = 0; leaf < kLeaves; ++leaf) {
      const float* const next = shared + (leaf * kTileRows + row) * kStride;
      const Join join(top, next[C]);
      top = join.top;
      sum = join(sum, next[C + 1]);
      out = join(out, next[c]);
    }
    float* const to = part_of<C>(call, rows.place(row), gridDim.z, blockIdx.z);
    to[c] = out;
    if (c == 0) {
      to[C] = top;
      to[C + 1] = sum;
    }
  }
}

template <class Number, int C, class Ring>
__global__ void __launch_bounds__(kSplitThreads, Ring::kBlocks) attend_split(PagedAttention call) {
  SEEKRL_DYNAMIC_SHARED(unsigned char, shared);
  const bool is_shared = blockIdx.x >= call.num_tiles;
  const AttentionTile tile = is_shared ? call.shared_tiles[blockIdx.x - call.num_tiles] : call.tiles[blockIdx.x];
  const int split = static_cast<int>(blockIdx.z), warp = static_cast<int>(threadIdx.x) / 32;
  // A shared tile has the splits of its keys, the others those behind them.
  const int shared_keys = is_shared                       ? tile.num_keys
                          : call.shared_keys_S != nullptr ? call.shared_keys_S[tile.sequence]
                                                          : 0;
  if (is_shared != (split * kSplitTokens < shared_keys)) return;
  const TileRows rows(call, tile, static_cast<int>(blockIdx.y), is_shared);
  auto* const rings = reinterpret_cast<Ring*>(shared);
  auto* const queries = reinterpret_cast<uint16_t*>(rings + kLeaves);
  fetch_queries<C, kTileRows, kSplitThreads>(queries, call, rows);
  copy_async_commit();
  copy_async_wait<0>();
  __syncthreads();
  const Reach first = rows.reach(0), last = rows.reach(rows.count() - 1);
  const LeafTiles tiles = tiles_of(split, warp, {first.first, last.last});
  LeafPart<C> part;
  if (tiles.first < tiles.end) {
    const LeafPieces<C, Ring> pieces(call, tile, tiles, last.last, rings[warp]);
    part = take_leaf<Number>(pieces, rows, queries, {last.first, first.last}, tiles.token);
  }
  join_leaves<C>(call, rows, part, reinterpret_cast<float*>(shared));
}

// A warp: one row of one head; splits are joined in order.
template <class Number, int C>
__global__ void __launch_bounds__(128) join_splits(PagedAttention call, int num_splits) {
  const int64_t place = call.first_row * call.num_heads + int64_t{blockIdx.x} * 4 + threadIdx.x / 32;
  if (place >= end_row(call) * call.num_heads) return;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  float top = -INFINITY, sum = 0, out[C / 32 + 1] = {};
  const float* next = part_of<C>(call, place, num_splits, 0);
#pragma unroll 4
  for (int split = 0; split < num_splits; ++split, next += kPartFloats<C>) {
    const Join join(top, next[C]);
    top = join.top;
    sum = join(sum, next[C + 1]);
#pragma unroll
    for (int i = 0; i <= C / 32; ++i) {
      if (i * 32 + lane < C) out[i] = join(out[i], next[i * 32 + lane]);
    }
  }
  if (lane == 0) store_log_sum(call, place, top, sum);
  auto* const to = static_cast<Number*>(call.out) + place * C;
  const float factor = 1.0f / sum;
#pragma unroll
  for (int i = 0; i <= C / 32; ++i) {
    if (i * 32 + lane < C) to[i * 32 + lane] = from_float<Number>(out[i] * factor);
  }
}

}  // namespace seekrl::cuda
