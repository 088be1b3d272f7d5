// Rows of a batch in runs, each of which has a right factor of its own: how many tiles there are is known on the GPU
// alone, so that there are blocks for as many as there can be, and those without one end at once.
#pragma once

#include <algorithm>

#include "kernels/cuda/product/kernel.cuh"

namespace seekrl::cuda {

struct RunTile {
  int64_t run;  // negative for none
  int64_t start, count;
  int64_t first_row;  // of those
};

// Run g has the rows [start_G[g], start_G[g + 1]) of those that there are.
template <int kRows>
__device__ __forceinline__ RunTile run_tile(const int32_t* start_G, int64_t num_runs, int64_t num_rows, int64_t tile) {
  for (int64_t g = 0; g < num_runs; ++g) {
    const int64_t start = start_G[g], count = min(int64_t{start_G[g + 1]}, num_rows) - start;
    const int64_t num_tiles = count > 0 ? (count + kRows - 1) / kRows : 0;
    if (tile < num_tiles) return {g, start, count, tile * kRows};
    tile -= num_tiles;
  }
  return {-1, 0, 0, 0};
}

// Each run has at most one tile that is not full.
inline unsigned most_run_tiles(int64_t num_rows, int64_t num_runs, int64_t tile_rows) {
  return static_cast<unsigned>(num_rows / tile_rows + std::min(num_runs, num_rows));
}

}  // namespace seekrl::cuda
