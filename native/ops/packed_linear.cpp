// Panels of outputs are the items that threads claim; the activation follows while a panel's block is in the cache.
#include "ops/packed_linear.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "base/claim_pool.h"
#include "base/error.h"
#include "kernels/packed.h"
#include "kernels/rows.h"
#include "ops/parallel.h"

namespace seekrl::ops {

namespace {

constexpr int64_t kBlockRows = 192;

}  // namespace

void share_items(int64_t num_items, int num_helpers, int64_t work, const std::function<void(int64_t)>& body) {
  const auto worth = static_cast<int>(std::min<int64_t>(work / kWorthAThread, num_items - 1));
  if (std::min(worth, num_helpers) > 0) return ClaimPool::shared().run(num_items, std::min(worth, num_helpers), body);
  for (int64_t item = 0; item < num_items; ++item) body(item);
}

PackedLinear::PackedLinear(const at::Tensor& weight_NK, const at::Tensor& bias_N) {
  require(weight_NK.dim() == 2, ErrorCode::kShape, "linear: expected a weight [N, K], got ", weight_NK.sizes());
  n_ = weight_NK.size(0);
  k_ = weight_NK.size(1);
  const at::Tensor weight = weight_NK.contiguous();
  const auto size = static_cast<size_t>(kernels::num_packed_panels(n_) * kernels::kPackedColumns * k_);
  if (weight.scalar_type() == at::kBFloat16) {
    require(k_ % 2 == 0, ErrorCode::kShape, "linear: bf16 needs an even number of inputs, got ", k_);
    packed_bf16_ = std::make_unique_for_overwrite<uint16_t[]>(size);
    kernels::pack_weight(packed_bf16_.get(), static_cast<const uint16_t*>(weight.const_data_ptr()), n_, k_);
  } else {
    packed_ = std::make_unique_for_overwrite<float[]>(size);
    kernels::pack_weight(packed_.get(), weight.const_data_ptr<float>(), n_, k_);
  }
  if (!bias_N.defined()) return;
  const at::Tensor bias = bias_N.to(at::kFloat).contiguous();
  bias_.assign(bias.const_data_ptr<float>(), bias.const_data_ptr<float>() + n_);
}

void PackedLinear::apply(float* y, int64_t y_stride, const float* x, int64_t x_stride, int64_t m, Activation activation,
                         int num_helpers, PackedScratch& scratch) const {
  if (packed_bf16_ != nullptr) {
    if (scratch.rounded.size() < static_cast<size_t>(m * k_)) scratch.rounded.resize(static_cast<size_t>(m * k_));
    for (int64_t row = 0; row < m; ++row)
      kernels::round_to_bf16(scratch.rounded.data() + row * k_, x + row * x_stride, k_);
  }
  const int64_t num_panels = kernels::num_packed_panels(n_), num_blocks = (m + kBlockRows - 1) / kBlockRows;
  // Few rows are bound by reading the weight, which costs as much as about eight rows of arithmetic.
  share_items(num_panels * num_blocks, num_helpers, std::max<int64_t>(m, 8) * n_ * k_, [&](int64_t item) {
    const int64_t first = item / num_panels * kBlockRows, column = item % num_panels * kernels::kPackedColumns;
    const int64_t rows = std::min(kBlockRows, m - first), columns = std::min(kernels::kPackedColumns, n_ - column);
    const float* bias = bias_.empty() ? nullptr : bias_.data() + column;
    float* to = y + first * y_stride + column;
    if (packed_bf16_ != nullptr) {
      kernels::packed_matmul_bf16(to, y_stride, scratch.rounded.data() + first * k_, k_,
                                  packed_bf16_.get() + column * k_, rows, columns, k_, bias);
    } else {
      kernels::packed_matmul(to, y_stride, x + first * x_stride, x_stride, packed_.get() + column * k_, rows, columns,
                             k_, bias);
    }
    if (activation == Activation::kNone) return;
    for (int64_t row = 0; row < rows; ++row) kernels::gelu(to + row * y_stride, to + row * y_stride, columns);
  });
}

}  // namespace seekrl::ops
