// How attention cuts its rows into tiles; shared by the implementations and by the sizes of their scratch.
#pragma once

#include <cstdint>

namespace seekrl::kernels {

// Rows are (position, head) pairs, positions outermost. A tile's scores stay in the second-level cache.
inline constexpr int64_t kMostRows = 48;
inline constexpr int64_t kFewestRows = 6;
inline constexpr int64_t kTileScores = 98304;  // floats of all the matrices of scores one tile holds

inline constexpr int64_t round_up_to_panel(int64_t keys) { return (keys + 63) / 64 * 64; }

// Rows of a tile that holds `matrices` scores for each of up to `keys` keys.
inline constexpr int64_t tile_rows(int64_t keys, int64_t matrices) {
  const int64_t fitting = kTileScores / (matrices * round_up_to_panel(keys)) / kFewestRows * kFewestRows;
  return fitting > kMostRows ? kMostRows : fitting < kFewestRows ? kFewestRows : fitting;
}

// Floats of the scores: tiles with fewer keys have more rows, never more scores than this.
inline constexpr int64_t scores_floats(int64_t max_keys, int64_t matrices) {
  const int64_t longest = kFewestRows * matrices * round_up_to_panel(max_keys);
  return longest > kTileScores ? longest : kTileScores;
}

}  // namespace seekrl::kernels
