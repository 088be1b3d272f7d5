// Few rows are multiplied with the codes; for many, outputs of the weight become 16 bits, as many as scratch is for.
#include "ops/gpu/products/quant.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>

#include <algorithm>

#include "kernels/cuda/quant/quant.h"
#include "ops/gpu/gpu.h"
#include "ops/gpu/products/product.h"

namespace seekrl::ops {

namespace {

using cuda::ProductForm;

constexpr int64_t kMostNumbers = kQuantScratch / 2;
// Outputs at which a part of a weight may begin: whole panels, and whole blocks of absmaxes.
constexpr int64_t kOutputs = kernels::kAbsmaxBlock;

template <class Element>
const Element* part_of(const QuantWeight& weight, size_t part) {
  return static_cast<const Element*>(weight.parts()[part].value.const_data_ptr());
}

// Outputs [first, first + count), of which the first is a multiple of kOutputs.
cuda::QuantMatrix matrix_of(const QuantWeight& weight, int64_t first, int64_t count) {
  cuda::QuantMatrix to = {};
  to.n = count;
  to.k = weight.k();
  const int64_t panel = first / kernels::kQuantLanes, blocks = kernels::num_quant_blocks(to.k);
  if (weight.kind() == QuantKind::kNf4) {
    const int64_t row = first * kernels::num_nf4_blocks(to.k);
    to.kind = cuda::QuantKind::kNf4;
    to.codes = part_of<uint8_t>(weight, 0) + row * (kernels::kNf4Block / 2);
    to.absmax = part_of<uint8_t>(weight, 1) + row;
    to.absmax_scales = part_of<float>(weight, 2) + row / kernels::kAbsmaxBlock;
    to.absmax_mean = part_of<float>(weight, 3);
    to.levels = weight.gpu_levels().const_data_ptr<float>();
    to.absmax_levels = to.levels + 16;
    return to;
  }
  const bool is_byte = weight.kind() == QuantKind::kInt8;
  const auto form = is_byte ? kernels::CodeForm::kByte : kernels::CodeForm::kNibble;
  to.kind = is_byte ? cuda::QuantKind::kInt8 : cuda::QuantKind::kInt4;
  to.codes = part_of<uint8_t>(weight, 0) + panel * blocks * kernels::panel_block_bytes(form);
  if (is_byte) {
    to.channel_scales_N = part_of<float>(weight, 1) + first;
  } else {
    to.block_scales = part_of<uint16_t>(weight, 1) + panel * blocks * kernels::kQuantLanes;
  }
  return to;
}

void multiply_codes(const at::Tensor& out_MN, const at::Tensor& x_MK, const QuantWeight& weight,
                    const at::Tensor& bias_N) {
  const cuda::QuantProduct call = {.out_MN = out_MN.mutable_data_ptr(),
                                   .x_MK = x_MK.const_data_ptr(),
                                   .weight = matrix_of(weight, 0, weight.n()),
                                   .bias_N = data_or_null(bias_N),
                                   .out_stride = out_MN.stride(0),
                                   .x_stride = x_MK.stride(0),
                                   .num_rows = x_MK.size(0),
                                   .dtype = gpu_dtype(x_MK),
                                   .out_dtype = gpu_dtype(out_MN)};
  require_launched(gpu().quant_product(call, stream_of(x_MK)));
}

// Calls body(first output, their numbers [outputs, K]) for one part of the weight after another. The last one's number
// of outputs is filled up to a multiple of 8 with zeros.
template <class Body>
void each_part(const QuantWeight& weight, const at::TensorOptions& options, const Body& body) {
  const int64_t n = weight.n(), k = weight.k(), filled = (n + 7) / 8 * 8;
  const int64_t outputs = std::min(filled, std::max(kOutputs, kMostNumbers / k / kOutputs * kOutputs));
  const at::Tensor scratch = at::empty({outputs, k}, options);
  for (int64_t first = 0; first < n; first += outputs) {
    const int64_t count = std::min(outputs, n - first), rows = (count + 7) / 8 * 8;
    const at::Tensor numbers = scratch.narrow(0, 0, rows);
    require_launched(gpu().dequantise(numbers.mutable_data_ptr(), matrix_of(weight, first, count), gpu_dtype(numbers),
                                      stream_of(numbers)));
    if (rows > count) numbers.narrow(0, count, rows - count).zero_();
    body(first, numbers);
  }
}

}  // namespace

void gpu_quant_product(const at::Tensor& out_MN, const at::Tensor& x_MK, const QuantWeight& weight,
                       const at::Tensor& bias_N) {
  if (x_MK.size(0) <= cuda::kMaxQuantRows) return multiply_codes(out_MN, x_MK, weight, bias_N);
  each_part(weight, x_MK.options(), [&](int64_t first, const at::Tensor& numbers) {
    const int64_t count = std::min(numbers.size(0), weight.n() - first);
    const at::Tensor bias = bias_N.defined() ? bias_N.narrow(0, first, count) : at::Tensor();
    gpu_product(out_MN.narrow(1, first, count), x_MK, numbers.narrow(0, 0, count), ProductForm::kForward, false, bias);
  });
}

void gpu_quant_input_gradient(const at::Tensor& x_grad_MK, const at::Tensor& y_grad_MN, const QuantWeight& weight) {
  const bool is_one = (weight.n() + 7) / 8 * 8 * weight.k() <= kMostNumbers;
  const at::Tensor sum = is_one ? x_grad_MK : at::empty(x_grad_MK.sizes(), x_grad_MK.options().dtype(at::kFloat));
  each_part(weight, y_grad_MN.options(), [&](int64_t first, const at::Tensor& numbers) {
    gpu_product(sum, y_grad_MN.narrow(1, first, numbers.size(0)), numbers, ProductForm::kInputGradient, first > 0);
  });
  if (!is_one) x_grad_MK.copy_(sum);
}

}  // namespace seekrl::ops
