// A block of threads has a tile of outputs; strips of both factors pass by along the depth, several on their way.
#pragma once

#include <algorithm>

#include "kernels/cuda/attention/tile.h"
#include "kernels/cuda/product/product.h"

namespace seekrl::cuda {

// How a product is cut: kM x kN outputs to a block, kDepth of the depth in shared memory at a time, kStages of those at
// once, warps side by side; kMinBlocks on a multiprocessor are given registers.
template <int kM_, int kN_, int kDepth_, int kStages_, int kWarpsM_, int kWarpsN_, int kMinBlocks_>
struct ProductTiling {
  static constexpr int kM = kM_, kN = kN_, kDepth = kDepth_, kStages = kStages_;
  static constexpr int kWarpsN = kWarpsN_, kThreads = kWarpsM_ * kWarpsN_ * 32, kMinBlocks = kMinBlocks_;
  static constexpr int kWarpM = kM / kWarpsM_, kWarpN = kN / kWarpsN_;  // of a warp
  static_assert(kWarpM % 16 == 0 && kWarpN % 16 == 0);
};

// The depth is filled with zeros to a multiple of this in every tiling, so that all add the same.
constexpr int kProductDepth = 64;

// The strip of one factor: kSize rows or columns of the result by kDepth; `kIsAcross` where the factor's rows run along
// the result, not along the depth.
template <bool kIsAcross, int kSize, int kDepth>
struct FactorStrip {
  static constexpr int kWidth = kIsAcross ? kSize : kDepth, kHeight = kIsAcross ? kDepth : kSize;
  static constexpr int kStride = kRowStride<kWidth>, kValues = kHeight * kStride;

  // From row or column `first` of `size`, from `k` of `depth`.
  template <int kThreads>
  static __device__ __forceinline__ void fetch(uint16_t* to, const void* factor, int64_t stride, int64_t first,
                                               int64_t size, int64_t k, int64_t depth) {
    const int64_t top = kIsAcross ? k : first, column = kIsAcross ? first : k;
    const int64_t height = kIsAcross ? depth : size, width = kIsAcross ? size : depth;
    const auto* const from = static_cast<const uint16_t*>(factor) + top * stride + column;
    fetch_rows<kWidth, kHeight, kThreads>(
        to, [&](int row) { return top + row < height ? from + row * stride : nullptr; }, width - column);
  }

  // Rows [first, first + 16) of the result and depth [c, c + 16), as the left matrix of mma.
  static __device__ __forceinline__ void load_left(uint32_t (&r)[4], const uint16_t* strip, int first, int c) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    if constexpr (kIsAcross) {
      load_matrices_x4_transposed(r, strip + (c + lane / 16 * 8 + lane % 8) * kStride + first + lane / 8 % 2 * 8);
    } else {
      load_matrices_x4(r, strip + (first + lane % 16) * kStride + c + lane / 16 * 8);
    }
  }

  // Columns [first, first + 16), as two right matrices.
  static __device__ __forceinline__ void load_right(uint32_t (&r)[4], const uint16_t* strip, int first, int c) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    if constexpr (kIsAcross) {
      load_matrices_x4_transposed(r, strip + (c + lane % 16) * kStride + first + lane / 16 * 8);
    } else {
      load_matrices_x4(r, strip + (first + lane % 8 + lane / 16 * 8) * kStride + c + lane / 8 % 2 * 8);
    }
  }
};

template <class Tiling, ProductForm kForm>
struct Strips {
  using Left = FactorStrip<kForm == ProductForm::kWeightGradient, Tiling::kM, Tiling::kDepth>;
  using Right = FactorStrip<kForm != ProductForm::kForward, Tiling::kN, Tiling::kDepth>;
  static constexpr int kValues = Left::kValues + Right::kValues;
};

// Of the strips, and later of the sums, which pass through on their way to `out`.
template <class Tiling, ProductForm kForm>
constexpr int kProductSharedBytes =
    std::max(Tiling::kStages * Strips<Tiling, kForm>::kValues * 2, Tiling::kM* kRowStride<Tiling::kN> * 4);

template <class Tiling>
using ProductSums = float[Tiling::kWarpM / 16][Tiling::kWarpN / 8][4];

// A warp's part of the tile begins here.
template <class Tiling>
struct WarpPlace {
  static constexpr int kWarpsN = Tiling::kWarpsN;
  const int row = static_cast<int>(threadIdx.x) / 32 / kWarpsN * Tiling::kWarpM;
  const int column = static_cast<int>(threadIdx.x) / 32 % kWarpsN * Tiling::kWarpN;
};

// sums += what is in one stage.
template <class Number, class Tiling, class Left, class Right>
__device__ __forceinline__ void multiply_strips(ProductSums<Tiling>& sums, const uint16_t* left_strip,
                                                const uint16_t* right_strip, const WarpPlace<Tiling>& place) {
#pragma unroll
  for (int c = 0; c < Tiling::kDepth; c += 16) {
    uint32_t left[Tiling::kWarpM / 16][4], right[4];
#pragma unroll
    for (int m = 0; m < Tiling::kWarpM / 16; ++m) Left::load_left(left[m], left_strip, place.row + m * 16, c);
#pragma unroll
    for (int n = 0; n < Tiling::kWarpN / 16; ++n) {
      Right::load_right(right, right_strip, place.column + n * 16, c);
#pragma unroll
      for (int m = 0; m < Tiling::kWarpM / 16; ++m) {
        mma(Number{}, sums[m][2 * n], left[m], right[0], right[1]);
        mma(Number{}, sums[m][2 * n + 1], left[m], right[2], right[3]);
      }
    }
  }
}

// Up to eight neighbours, zeros behind them; `is_whole`: there are eight, at a multiple of 16 bytes.
template <class Number>
__device__ __forceinline__ void load_some(float (&values)[8], const Number* at, int64_t count, bool is_whole) {
  if (is_whole) return load_8(values, at);
#pragma unroll
  for (int i = 0; i < 8; ++i) values[i] = i < count ? to_float(at[i]) : 0.0f;
}

// The tile's sums, [kM][kN + 8] in shared memory, to `out`.
template <class Number, class Out, class Tiling>
__device__ __forceinline__ void store_tile(const Product& call, const float* sums, int64_t first_row,
                                           int64_t first_column) {
  constexpr int kPieces = Tiling::kN / 8;
  const bool is_aligned = (reinterpret_cast<uintptr_t>(call.out_MN) | call.out_stride * sizeof(Out)) % 16 == 0;
  for (int i = static_cast<int>(threadIdx.x); i < Tiling::kM * kPieces; i += Tiling::kThreads) {
    const int64_t row = first_row + i / kPieces, column = first_column + i % kPieces * 8, count = call.n - column;
    if (row >= call.m || count <= 0) continue;
    auto* const to = static_cast<Out*>(call.out_MN) + row * call.out_stride + column;
    const bool is_whole = is_aligned && count >= 8;
    float values[8], bias[8] = {}, before[8];
    load_8(values, sums + i / kPieces * kRowStride<Tiling::kN> + i % kPieces * 8);
    if (call.bias_N != nullptr) load_some(bias, static_cast<const Number*>(call.bias_N) + column, count, count >= 8);
#pragma unroll
    for (int c = 0; c < 8; ++c) values[c] = fmaf(call.scale, values[c], bias[c]);
    if (call.adds) {
      load_some(before, to, count, is_whole);
#pragma unroll
      for (int c = 0; c < 8; ++c) values[c] += before[c];
    }
    if (is_whole) {
      store_8(to, values);
    } else {
#pragma unroll
      for (int c = 0; c < 8; ++c) {
        if (c < count) to[c] = from_float<Out>(values[c]);
      }
    }
  }
}

// Through shared memory, so that a row's neighbours are stored together.
template <class Number, class Tiling>
__device__ __forceinline__ void store_sums(const Product& call, const ProductSums<Tiling>& sums, uint16_t* shared,
                                           int64_t first_row, int64_t first_column) {
  auto* const staged = reinterpret_cast<float*>(shared);
  const WarpPlace<Tiling> place;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  __syncthreads();
#pragma unroll
  for (int i = 0; i < Tiling::kWarpM * Tiling::kWarpN / 64; ++i) {
    const int m = i / 2 / (Tiling::kWarpN / 8), n = i / 2 % (Tiling::kWarpN / 8), r = i % 2;
    float* const to = staged + (place.row + m * 16 + r * 8 + lane / 4) * kRowStride<Tiling::kN> + place.column + n * 8;
    reinterpret_cast<float2*>(to)[lane % 4] = float2{sums[m][n][2 * r], sums[m][n][2 * r + 1]};
  }
  __syncthreads();
  if (call.out_dtype == Dtype::kFloat) {
    store_tile<Number, float, Tiling>(call, staged, first_row, first_column);
  } else {
    store_tile<Number, Number, Tiling>(call, staged, first_row, first_column);
  }
}

// A block's work: its tile of outputs, where its strips lie, and where it is along the depth.
template <class Number, class Tiling, ProductForm kForm>
struct TileWork {
  using Left = typename Strips<Tiling, kForm>::Left;
  using Right = typename Strips<Tiling, kForm>::Right;
  static constexpr int kStages = Tiling::kStages, kThreads = Tiling::kThreads;

  __device__ TileWork(const Product& call_, int64_t first_row_, int64_t first_column_, uint16_t* shared_)
      : call(call_), first_row(first_row_), first_column(first_column_), shared(shared_) {
    num_steps = (call.k + kProductDepth - 1) / kProductDepth * (kProductDepth / Tiling::kDepth);
  }

  __device__ __forceinline__ void fetch(int64_t step, int stage) {
    if (step < num_steps) {
      uint16_t* const to = shared + stage * Strips<Tiling, kForm>::kValues;
      const int64_t k = step * Tiling::kDepth;
      Left::template fetch<kThreads>(to, call.left, call.left_stride, first_row, call.m, k, call.k);
      Right::template fetch<kThreads>(to + Left::kValues, call.right, call.right_stride, first_column, call.n, k,
                                      call.k);
    }
    copy_async_commit();
  }

  __device__ __forceinline__ void multiply(ProductSums<Tiling>& sums) {
    for (int step = 0; step < kStages - 1; ++step) fetch(step, step);
    int stage = 0;
    for (int64_t step = 0; step < num_steps; ++step) {
      copy_async_wait<kStages - 2>();
      __syncthreads();
      // Into the stage that all had done with before the barrier.
      fetch(step + kStages - 1, stage == 0 ? kStages - 1 : stage - 1);
      const uint16_t* const strips = shared + stage * Strips<Tiling, kForm>::kValues;
      multiply_strips<Number, Tiling, Left, Right>(sums, strips, strips + Left::kValues, place);
      stage = stage + 1 == kStages ? 0 : stage + 1;
    }
  }

  const Product& call;
  const int64_t first_row, first_column;
  uint16_t* const shared;  // kProductSharedBytes
  const WarpPlace<Tiling> place;
  int64_t num_steps;
};

// The tile of outputs from [first_row, first_column) on.
template <class Number, class Tiling, ProductForm kForm>
__device__ __forceinline__ void multiply_tile(const Product& call, int64_t first_row, int64_t first_column,
                                              uint16_t* shared) {
  TileWork<Number, Tiling, kForm> work(call, first_row, first_column, shared);
  ProductSums<Tiling> sums = {};
  work.multiply(sums);
  store_sums<Number, Tiling>(call, sums, shared, first_row, first_column);
}

}  // namespace seekrl::cuda
