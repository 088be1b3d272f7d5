// The arithmetic of a row's attention, the same whichever kernel walks its keys: of leaves, which are joined to splits,
// which are joined to the whole. The files that include this are compiled without fused multiply-adds but those named.
//
// A split of kSplitTokens keys is 16 tiles, tile t of it in leaf t % 4. A leaf's weights are relative to its own
// largest score, and its products have one chain of sums over its tiles. What joins is a left fold, (top, sum, out)
// with the next, in the order of leaves and of splits; a part without a key that the row sees changes no bit.
#pragma once

#include "kernels/cuda/attention/paged.h"
#include "kernels/cuda/attention/tile.h"

namespace seekrl::cuda {

constexpr int kKeyTile = 16;
constexpr int kLeafTiles = 4;
constexpr int kLeaves = 4;
constexpr int kLeafKeys = kLeafTiles * kKeyTile;
static_assert(kLeaves * kLeafKeys == kSplitTokens);

// How far a leaf's tiles lie apart.
constexpr int kTileStep = kLeaves * kKeyTile;

// Which tokens a row attends over: [first, last).
struct Reach {
  int first, last;
};

// The rows of a tile for one key head: (position, head of the group) pairs, positions outermost.
struct TileRows {
  AttentionTile tile;
  int64_t num_heads;
  int group;       // rows of a position
  int first_head;  // of the query's
  int window;
  bool is_shared;  // all rows reach as far as the first

  __device__ __forceinline__ TileRows(const PagedAttention& call, const AttentionTile& tile, int kv_head,
                                      bool is_shared)
      : tile(tile),
        num_heads(call.num_heads),
        group(static_cast<int>(call.num_heads / call.num_kv_heads)),
        first_head(kv_head * group),
        window(static_cast<int>(call.window)),
        is_shared(is_shared) {}

  __device__ __forceinline__ int count() const { return tile.num_positions * group; }
  // Of query and out, in heads.
  __device__ __forceinline__ int64_t place(int row) const {
    return (tile.first_row + row / group) * num_heads + first_head + row % group;
  }
  __device__ __forceinline__ Reach reach(int row) const {
    const int position = row / group;
    if (position >= tile.num_positions) return {0, 0};
    const int last = tile.num_keys + (is_shared ? 0 : position);
    return {window > 0 && last > window ? last - window : 0, last};
  }
};

// The rows' queries to shared memory; those past the tile's are zero.
template <int C, int kRows, int kThreads>
__device__ __forceinline__ void fetch_queries(uint16_t* to, const PagedAttention& call, const TileRows& rows) {
  fetch_rows<C, kRows, kThreads>(to, [&](int row) {
    return row < rows.count() ? static_cast<const uint16_t*>(call.query) + rows.place(row) * C : nullptr;
  });
}

// A leaf's tiles that some row sees a key of: [first, end), of `token` on.
struct LeafTiles {
  int token;
  int first, end;
};
// seen: what all rows see together.
__device__ __forceinline__ LeafTiles tiles_of(int split, int leaf, const Reach& seen) {
  const int token = split * kSplitTokens + leaf * kKeyTile;
  const int before = seen.first - token - kKeyTile, in = seen.last - token;
  return {token, before < 0 ? 0 : min(before / kTileStep + 1, kLeafTiles),
          in <= 0 ? 0 : min((in - 1) / kTileStep + 1, kLeafTiles)};
}

using LeafScores = float[kLeafKeys / 8][4];
using TileScores = float[kKeyTile / 8][4];
__device__ __forceinline__ TileScores& tile_scores(LeafScores& scores, int tile) {
  return *reinterpret_cast<TileScores*>(scores[tile * (kKeyTile / 8)]);
}

// Products of keys and queries, whose first is row `first_row`, become scores times log2(e), minus infinity where a row
// does not see a key. everyone: what every row of the tile sees.
__device__ __forceinline__ void finish_scores(LeafScores& scores, const PagedAttention& call, const TileRows& rows,
                                              int first_row, const Reach& everyone, int token) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const auto score_all = [&] {
#pragma unroll
    for (int i = 0; i < kLeafKeys / 2; ++i) scores[i / 4][i % 4] = score_of(call, scores[i / 4][i % 4]).value;
  };
  // The same twice, so that the compiler looks at the rule once for all scores, not for each.
  if (call.softcap > 0) {
    score_all();
  } else {
    score_all();
  }
  if (token >= everyone.first && token + (kLeafTiles - 1) * kTileStep + kKeyTile <= everyone.last) return;
  const Reach reach[2] = {rows.reach(first_row + lane / 4), rows.reach(first_row + lane / 4 + 8)};
#pragma unroll
  for (int i = 0; i < kLeafKeys / 2; ++i) {
    const int j = token + i / 8 * kTileStep + i / 4 % 2 * 8 + lane % 4 * 2 + i % 2, r = i / 2 % 2;
    if (j < reach[r].first || j >= reach[r].last) scores[i / 4][i % 4] = -INFINITY;
  }
}

// What a warp makes of 16 rows' scores: lane l has rows l / 4 and l / 4 + 8.
struct LeafWeights {
  uint32_t pairs[kLeafTiles][4];  // as multiply_columns takes them
  float top[2], sum[2];           // every lane of a row has the same
};
template <class Number>
__device__ __forceinline__ LeafWeights weigh(LeafScores& scores) {
  LeafWeights weights;
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    float top = -INFINITY, sum = 0;
#pragma unroll
    for (int n = 0; n < kLeafKeys / 8; ++n) top = fmaxf(top, fmaxf(scores[n][2 * r], scores[n][2 * r + 1]));
    top = join_row(top, Max());
    // A row that sees no key here has weights of 0.
    const float base = top == -INFINITY ? 0.0f : top;
#pragma unroll
    for (int n = 0; n < kLeafKeys / 8; ++n) {
#pragma unroll
      for (int i = 2 * r; i < 2 * r + 2; ++i) {
        scores[n][i] = exp2f(scores[n][i] - base);
        sum += scores[n][i];
      }
    }
    weights.top[r] = top;
    weights.sum[r] = join_row(sum, Sum());
  }
  pack_weights<Number, kLeafKeys>(weights.pairs, scores);
  return weights;
}

// Of a row's parts together, where it is wanted; place: of the row and head in `out`.
__device__ __forceinline__ void store_log_sum(const PagedAttention& call, int64_t place, float top, float sum) {
  if (call.log_sum_HT == nullptr) return;
  call.log_sum_HT[place % call.num_heads * call.num_rows + place / call.num_heads] = top + log2f(sum);
}

// What is left of a row's part, and what is taken of the next, relative to the larger of their tops.
struct Join {
  float top, keep, take;

  __device__ __forceinline__ Join(float before, float next) : top(fmaxf(before, next)) {
    keep = before == -INFINITY ? 0.0f : exp2f(before - top);
    take = next == -INFINITY ? 0.0f : exp2f(next - top);
  }
  __device__ __forceinline__ float operator()(float before, float next) const {
    return fmaf(next, take, before * keep);
  }
};

}  // namespace seekrl::cuda
