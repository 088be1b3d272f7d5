// Chooses the tiling by the sizes: its bits are those of any other.
#include "kernels/cuda/product/kernel.cuh"

namespace seekrl::cuda {

namespace {

// Outputs of tiles of 64 columns that leave half a GPU without a block.
constexpr int64_t kFewColumns = 8192;
// Tiles of 128 x 128 that are enough for a GPU; of fewer, smaller ones.
constexpr int64_t kEnoughTiles = 128;

// At most 64 rows of x, as decoding has them.
template <class Number, class Narrow, class Tiling>
Status launch_few_rows(const Product& call, void* stream) {
  return call.n <= kFewColumns ? launch_product<Number, Narrow, ProductForm::kForward>(call, stream)
                               : launch_product<Number, Tiling, ProductForm::kForward>(call, stream);
}

template <class Number, ProductForm kForm>
Status launch_form(const Product& call, void* stream) {
  if constexpr (kForm == ProductForm::kForward) {
    if (call.m <= 16) return launch_few_rows<Number, Rows16Narrow, Rows16>(call, stream);
    if (call.m <= 32) return launch_few_rows<Number, Rows32Narrow, Rows32>(call, stream);
    if (call.m <= 64) return launch_few_rows<Number, Rows64Narrow, Rows64>(call, stream);
  }
  const int64_t num_tiles = int64_t{blocks_of(call.m, 128)} * blocks_of(call.n, 128);
  return num_tiles < kEnoughTiles ? launch_product<Number, Rows64, kForm>(call, stream)
                                  : launch_product<Number, Rows128, kForm>(call, stream);
}

// What does not fit loads of 16 bytes, or null.
Status fault_of(const Product& call) {
  const bool is_along_k = call.form != ProductForm::kWeightGradient, is_along_n = call.form != ProductForm::kForward;
  if (call.left_stride % 8 != 0 || call.right_stride % 8 != 0)
    return "product: expected strides that are multiples of 8";
  if (is_along_k && call.k % 8 != 0) return "product: k: expected a multiple of 8";
  if (!is_along_k && call.m % 8 != 0) return "product: m: expected a multiple of 8";
  if (is_along_n && call.n % 8 != 0) return "product: n: expected a multiple of 8";
  if (!are_aligned({call.left, call.right, call.bias_N}))
    return "product: expected factors and bias at multiples of 16 bytes";
  if (call.out_dtype != call.dtype && call.out_dtype != Dtype::kFloat)
    return "product: out: expected f32 or the factors'";
  return nullptr;
}

}  // namespace

Status product(const Product& call, void* stream) {
  if (const Status fault = fault_of(call); fault != nullptr) return fault;
  if (call.m == 0 || call.n == 0) return nullptr;
  return with_number(call.dtype, "product: expected factors in 16 bits", [&]<class Number>() -> Status {
    switch (call.form) {
      case ProductForm::kForward: return launch_form<Number, ProductForm::kForward>(call, stream);
      case ProductForm::kInputGradient: return launch_form<Number, ProductForm::kInputGradient>(call, stream);
      case ProductForm::kWeightGradient: return launch_form<Number, ProductForm::kWeightGradient>(call, stream);
    }
    return "product: expected one of three forms";
  });
}

}  // namespace seekrl::cuda
