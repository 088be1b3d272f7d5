// Panels of outputs are the items that threads claim; the activation follows while a panel's block is in the cache.
#include "ops/products/packed_linear.h"

#include <ATen/core/Tensor.h>

#include <algorithm>

#include "base/error.h"
#include "kernels/products/packed.h"
#include "kernels/rows.h"
#include "ops/parallel.h"
#include "ops/products/quant_linear.h"

namespace seekrl::ops {

namespace {

constexpr int64_t kPackedRows = 192;

}  // namespace

PackedLinear::PackedLinear(const Weight& weight_NK, const at::Tensor& bias_N) {
  require(weight_NK.is_quant() || weight_NK.plain_NK.dim() == 2, ErrorCode::kShape,
          "linear: expected a weight [N, K], got ", weight_NK.plain_NK.sizes());
  n_ = weight_NK.n();
  k_ = weight_NK.k();
  if (weight_NK.is_quant()) {
    weight_NK_ = weight_NK;
  } else if (weight_NK.plain_NK.scalar_type() == at::kBFloat16) {
    weight_NK_ = weight_NK.plain_NK.contiguous();
  } else {
    const at::Tensor weight = weight_NK.plain_NK.contiguous();
    const int64_t size = kernels::num_packed_panels(n_) * kernels::kPanelColumns * k_;
    packed_ = std::make_unique_for_overwrite<float[]>(static_cast<size_t>(size));
    kernels::pack_weight(packed_.get(), weight.const_data_ptr<float>(), n_, k_);
  }
  if (!bias_N.defined()) return;
  const at::Tensor bias = bias_N.to(at::kFloat).contiguous();
  bias_.assign(bias.const_data_ptr<float>(), bias.const_data_ptr<float>() + n_);
}

void PackedLinear::apply(float* y, int64_t y_stride, const float* x, int64_t x_stride, int64_t m, Activation activation,
                         int num_helpers) const {
  const float* bias = this->bias();
  if (weight_NK_.is_quant()) {
    return code_linear(y, y_stride, quant_rows(x, x_stride, m, k_, num_helpers), m, weight_NK_.quant, bias, activation,
                       num_helpers);
  }
  if (packed_ == nullptr) {
    return bf16_linear(y, y_stride, round_rows(x, x_stride, m, k_, num_helpers), bits_of(weight_NK_.plain_NK), n_, bias,
                       activation, num_helpers);
  }
  const int64_t num_panels = kernels::num_packed_panels(n_), num_blocks = (m + kPackedRows - 1) / kPackedRows;
  // Few rows are bound by reading the weight, which costs as much as about eight rows of arithmetic.
  share_items(num_panels * num_blocks, num_helpers, std::max<int64_t>(m, 8) * n_ * k_, [&](int64_t item) {
    const int64_t first = item / num_panels * kPackedRows, column = item % num_panels * kernels::kPanelColumns;
    const int64_t rows = std::min(kPackedRows, m - first), columns = std::min(kernels::kPanelColumns, n_ - column);
    float* to = y + first * y_stride + column;
    kernels::packed_matmul(to, y_stride, x + first * x_stride, x_stride, packed_.get() + column * k_, rows, columns, k_,
                           bias == nullptr ? nullptr : bias + column);
    if (activation == Activation::kNone) return;
    for (int64_t row = 0; row < rows; ++row) kernels::gelu(to + row * y_stride, to + row * y_stride, columns);
  });
}

void PackedLinear::apply_with(const PackedLinear& next, float* y, int64_t y_stride, const float* x, int64_t x_stride,
                              float* hidden, int64_t m, Activation activation, int num_helpers) const {
  if (!weight_NK_.is_quant() || !next.weight_NK_.is_quant()) {
    apply(hidden, n_, x, x_stride, m, activation, num_helpers);
    return next.apply(y, y_stride, hidden, n_, m, Activation::kNone, num_helpers);
  }
  const kernels::QuantRows rows = quant_rows(x, x_stride, m, k_, num_helpers);
  const kernels::QuantRows codes = code_rows(rows, m, weight_NK_.quant, bias(), activation, num_helpers);
  code_linear(y, y_stride, codes, m, next.weight_NK_.quant, next.bias(), Activation::kNone, num_helpers);
}

}  // namespace seekrl::ops
