// A block of threads has a tile of one run's rows.
#include "kernels/cuda/product/low_rank.h"
#include "kernels/cuda/product/runs.cuh"

namespace seekrl::cuda {

namespace {

enum class Half { kDown, kUp };

// Up to so many rows, tiles of 16 of them.
constexpr int64_t kFewRows = 256;

// The half of the adapter's addition as a product of its rows.
template <class Number>
__device__ __forceinline__ Product product_of(const LowRank& call, const LowRankPair& pair, const RunTile& tile,
                                              Half half) {
  Number* const inner = static_cast<Number*>(call.inner_MR) + tile.start * call.max_rank;
  Product product = {};
  product.m = tile.count;
  product.form = ProductForm::kForward;
  product.dtype = product.out_dtype = call.dtype;
  if (half == Half::kDown) {
    product.out_MN = inner;
    product.out_stride = call.max_rank;
    product.left = static_cast<const Number*>(call.x_MK) + tile.start * call.x_stride;
    product.left_stride = call.x_stride;
    product.right = pair.down_RK;
    product.right_stride = product.k = call.k;
    product.n = pair.rank;
    product.scale = pair.scale;
    return product;
  }
  const int64_t out_bytes = call.out_dtype == Dtype::kFloat ? sizeof(float) : sizeof(Number);
  product.out_MN = static_cast<unsigned char*>(call.out_MN) + tile.start * call.out_stride * out_bytes;
  product.out_stride = call.out_stride;
  product.out_dtype = call.out_dtype;
  product.left = inner;
  product.left_stride = call.max_rank;
  product.right = pair.up_NR;
  product.right_stride = product.k = pair.rank;
  product.n = call.n;
  product.adds = true;
  return product;
}

template <class Number, class Tiling, Half kHalf>
__global__ void __launch_bounds__(Tiling::kThreads, Tiling::kMinBlocks) multiply_adapters(LowRank call) {
  SEEKRL_DYNAMIC_SHARED(uint16_t, shared);
  const RunTile tile = run_tile<Tiling::kM>(call.start_G, call.num_runs, call.m, blockIdx.x);
  const int32_t adapter = tile.run < 0 ? -1 : call.adapter_G[tile.run];
  if (adapter < 0) return;
  const LowRankPair pair = call.pairs_A[adapter];
  const int64_t first_column = int64_t{blockIdx.y} * Tiling::kN;
  if (pair.down_RK == nullptr || (kHalf == Half::kDown && first_column >= pair.rank)) return;
  const Product product = product_of<Number>(call, pair, tile, kHalf);
  multiply_tile<Number, Tiling, ProductForm::kForward>(product, tile.first_row, first_column, shared);
}

template <class Number, class Tiling, Half kHalf>
Status launch_half(const LowRank& call, void* stream) {
  const int64_t width = kHalf == Half::kDown ? call.max_rank : call.n;
  const dim3 grid(most_run_tiles(call.m, call.num_runs, Tiling::kM), blocks_of(width, Tiling::kN));
  return launch(&multiply_adapters<Number, Tiling, kHalf>, grid, dim3(Tiling::kThreads),
                kProductSharedBytes<Tiling, ProductForm::kForward>, stream, call);
}

template <class Number, class Down, class Up>
Status launch_halves(const LowRank& call, void* stream) {
  const Status status = launch_half<Number, Down, Half::kDown>(call, stream);
  return status != nullptr ? status : launch_half<Number, Up, Half::kUp>(call, stream);
}

}  // namespace

Status add_low_rank(const LowRank& call, void* stream) {
  if (call.k % 8 != 0 || call.x_stride % 8 != 0) return "low-rank product: k, x: expected multiples of 8";
  if (call.max_rank % 8 != 0) return "low-rank product: max_rank: expected a multiple of 8";
  if (call.out_dtype != call.dtype && call.out_dtype != Dtype::kFloat) {
    return "low-rank product: out: expected f32 or x's";
  }
  if (call.m == 0 || call.n == 0 || call.num_runs == 0 || call.max_rank == 0) return nullptr;
  if (!are_aligned({call.inner_MR, call.x_MK})) return "low-rank product: inner, x: expected multiples of 16 bytes";
  return with_number(call.dtype, "low-rank product: expected x in 16 bits", [&]<class Number>() {
    return call.m <= kFewRows ? launch_halves<Number, Rows16Narrow, Rows16>(call, stream)
                              : launch_halves<Number, Rows64, Rows64>(call, stream);
  });
}

}  // namespace seekrl::cuda
