// A block of threads has a tile of one expert's rows.
#include "kernels/cuda/experts/experts.h"
#include "kernels/cuda/product/runs.cuh"

namespace seekrl::cuda {

namespace {

// Rows of all experts up to which tiles are of 16.
constexpr int64_t kFewRows = 512;

template <class Number, class Tiling>
__global__ void __launch_bounds__(Tiling::kThreads, Tiling::kMinBlocks) multiply_experts(ExpertProduct call) {
  SEEKRL_DYNAMIC_SHARED(uint16_t, shared);
  const RunTile tile = run_tile<Tiling::kM>(call.start_E, call.num_experts, call.num_calls, blockIdx.x);
  if (tile.run < 0) return;
  Product product = {};
  product.m = tile.count;
  product.n = call.n;
  product.k = product.left_stride = product.right_stride = call.k;
  product.out_MN = static_cast<Number*>(call.out_RN) + tile.start * call.n;
  product.out_stride = call.n;
  product.left = static_cast<const Number*>(call.x_RK) + tile.start * call.k;
  product.right = call.weights_E[tile.run];
  product.form = ProductForm::kForward;
  product.dtype = product.out_dtype = call.dtype;
  multiply_tile<Number, Tiling, ProductForm::kForward>(product, tile.first_row, int64_t{blockIdx.y} * Tiling::kN,
                                                       shared);
}

template <class Number, class Tiling>
Status launch_tiling(const ExpertProduct& call, void* stream) {
  const dim3 grid(most_run_tiles(call.num_calls, call.num_experts, Tiling::kM), blocks_of(call.n, Tiling::kN));
  return launch(&multiply_experts<Number, Tiling>, grid, dim3(Tiling::kThreads),
                kProductSharedBytes<Tiling, ProductForm::kForward>, stream, call);
}

}  // namespace

Status expert_product(const ExpertProduct& call, void* stream) {
  if (call.k % 8 != 0) return "expert product: k: expected a multiple of 8";
  if (call.num_calls == 0 || call.n == 0) return nullptr;
  if (!are_aligned({call.x_RK})) return "expert product: x: expected a multiple of 16 bytes";
  return with_number(call.dtype, "expert product: expected x in 16 bits", [&]<class Number>() {
    return call.num_calls <= kFewRows ? launch_tiling<Number, Rows16>(call, stream)
                                      : launch_tiling<Number, Rows64>(call, stream);
  });
}

}  // namespace seekrl::cuda
