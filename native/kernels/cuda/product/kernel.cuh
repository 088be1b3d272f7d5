// The tilings of products, which differ in speed and not in bits, and the kernel of one.
#pragma once

#include "kernels/cuda/launch.h"
#include "kernels/cuda/product/tile.cuh"

namespace seekrl::cuda {

// For few rows the right factor streams by, so that what counts is how much of it is on its way: 20 to 40 KB a block.
// Narrow ones are for factors of few columns, which then are blocks enough for all multiprocessors. For many rows
// tensor cores are what is to be kept busy.
using Rows16Narrow = ProductTiling<16, 32, 64, 10, 1, 2, 2>;
using Rows16 = ProductTiling<16, 64, 64, 6, 1, 4, 2>;
using Rows32Narrow = ProductTiling<32, 32, 64, 8, 2, 1, 2>;
using Rows32 = ProductTiling<32, 64, 64, 5, 1, 4, 2>;
using Rows64Narrow = ProductTiling<64, 32, 64, 6, 4, 1, 2>;
using Rows64 = ProductTiling<64, 64, 64, 4, 2, 2, 2>;
using Rows128 = ProductTiling<128, 128, 32, 4, 2, 4, 2>;

// Rows of tiles that run beside each other before the next columns do: the blocks of a GPU then read about as many
// rows as columns, and what they read stays in the second-level cache.
constexpr int64_t kTileGroup = 16;

template <class Number, class Tiling, ProductForm kForm>
__global__ void __launch_bounds__(Tiling::kThreads, Tiling::kMinBlocks) multiply_tiles(Product call) {
  SEEKRL_DYNAMIC_SHARED(uint16_t, shared);
  const int64_t num_rows = (call.m + Tiling::kM - 1) / Tiling::kM, num_columns = (call.n + Tiling::kN - 1) / Tiling::kN;
  const int64_t first = blockIdx.x / (kTileGroup * num_columns) * kTileGroup, place = blockIdx.x - first * num_columns;
  const int64_t group = min(kTileGroup, num_rows - first);
  multiply_tile<Number, Tiling, kForm>(call, (first + place % group) * Tiling::kM, place / group * Tiling::kN, shared);
}

template <class Number, class Tiling, ProductForm kForm>
Status launch_product(const Product& call, void* stream) {
  const dim3 grid(blocks_of(call.m, Tiling::kM) * blocks_of(call.n, Tiling::kN));
  return launch(&multiply_tiles<Number, Tiling, kForm>, grid, dim3(Tiling::kThreads),
                kProductSharedBytes<Tiling, kForm>, stream, call);
}

}  // namespace seekrl::cuda
