// Columns of outputs are the items that threads claim; NF4 becomes bf16 a few rows at a time, in the cache.
#include "ops/products/quant_linear.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <torch/custom_class.h>

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "kernels/rows.h"
#include "ops/gpu/products/quant.h"
#include "ops/kernel_path.h"
#include "ops/parallel.h"
#include "ops/scratch.h"

namespace seekrl::ops {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// Outputs of an item at most.
constexpr int64_t kMostColumns = 256;

int64_t num_items(int64_t size, int64_t each) { return (size + each - 1) / each; }

// A part of a product: rows of x times some outputs, and where they begin.
struct CodeItem {
  int64_t row = 0, column = 0, num_rows = 0, width = 0;
};

// Calls body(item) for every part of M rows of the product. Outputs of an item: 64 KB of codes take some microseconds
// to read, a claim takes a fraction of one; whole blocks of a next product.
template <class Body>
void share_code_items(int64_t m, const QuantWeight& weight, int num_helpers, const Body& body) {
  constexpr int64_t kRows = 256;
  const kernels::CodePanels panels = weight.panels();
  const int64_t row_bytes = panels.num_blocks * kernels::panel_block_bytes(panels.form) / kernels::kQuantLanes;
  const int64_t columns = std::clamp<int64_t>(65536 / row_bytes / 32 * 32, 32, kMostColumns);
  const int64_t num_columns = num_items(weight.n(), columns);
  // Few rows are bound by reading the weight, which costs as much as about eight rows of arithmetic.
  const int64_t work = std::max<int64_t>(m, 8) * weight.n() * weight.k();
  share_items(num_columns * num_items(m, kRows), num_helpers, work, [&](int64_t index) {
    const int64_t row = index / num_columns * kRows, column = index % num_columns * columns;
    body(CodeItem{row, column, std::min(kRows, m - row), std::min(columns, weight.n() - column)});
  });
}

void multiply_item(float* y, int64_t y_stride, const kernels::QuantRows& x_MK, const CodeItem& item,
                   const QuantWeight& weight, const float* bias_N, Activation activation) {
  kernels::quant_matmul(y, y_stride, x_MK, item.row, weight.panels().at(item.column / kernels::kQuantLanes),
                        item.num_rows, item.width, bias_N == nullptr ? nullptr : bias_N + item.column);
  if (activation == Activation::kNone) return;
  for (int64_t r = 0; r < item.num_rows; ++r) kernels::gelu(y + r * y_stride, y + r * y_stride, item.width);
}

// Room for M rows in the calling thread's memory.
template <Scratch name>
kernels::QuantRows room_for_rows(int64_t m, int64_t k) {
  const int64_t blocks = kernels::num_quant_blocks(k);
  return {scratch<int8_t, name>(m * blocks * kernels::kQuantBlock), scratch<float, name>(m * blocks),
          scratch<int32_t, name>(m * blocks), blocks};
}

void nf4_product(float* y_MN, const float* x_MK, int64_t m, const QuantWeight& weight, const float* bias_N) {
  const int64_t n = weight.n(), k = weight.k();
  const Bf16Rows x = round_rows(x_MK, k, m, k, atens_helpers());
  const int64_t columns = std::clamp<int64_t>(65536 / k / 16 * 16, 16, 256);
  share_items(num_items(n, columns), atens_helpers(), std::max<int64_t>(m, 8) * n * k, [&](int64_t item) {
    const int64_t column = item * columns, width = std::min(columns, n - column);
    uint16_t* const rows = scratch<uint16_t, Scratch::kWeight>(columns * k);
    weight.rows_to_bf16(rows, column, width);
    bf16_linear(y_MN + column, n, x, rows, width, bias_N == nullptr ? nullptr : bias_N + column, Activation::kNone, 0);
  });
}

// What autograd keeps of a weight.
struct Held : torch::CustomClassHolder {
  explicit Held(QuantWeight of) : weight(std::move(of)) {}
  QuantWeight weight;
};

at::Tensor forward_of(const at::Tensor& x_MK, const QuantWeight& weight, const at::Tensor& bias_N,
                      at::ScalarType dtype) {
  if (!weight.is_on_cpu()) {
    at::Tensor y_MN = at::empty({x_MK.size(0), weight.n()}, x_MK.options().dtype(dtype));
    gpu_quant_product(y_MN, x_MK.stride(1) == 1 ? x_MK : x_MK.contiguous(), weight, bias_N);
    return y_MN;
  }
  const at::Tensor x = x_MK.contiguous(), bias = bias_N.defined() ? bias_N.to(at::kFloat).contiguous() : at::Tensor();
  at::Tensor y_MN = at::empty({x.size(0), weight.n()}, x.options());
  quant_product(y_MN.mutable_data_ptr<float>(), x.const_data_ptr<float>(), x.size(0), weight,
                bias.defined() ? bias.const_data_ptr<float>() : nullptr);
  return y_MN;
}

class QuantLinearFunction : public torch::autograd::Function<QuantLinearFunction> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x_MK, const QuantWeight& weight,
                            const std::optional<at::Tensor>& bias_N, at::ScalarType dtype) {
    hold_weight(context, weight);
    context->saved_data["entered"] = static_cast<int64_t>(x_MK.scalar_type());
    return forward_of(x_MK, weight, bias_N.value_or(at::Tensor()), dtype);
  }

  static variable_list backward(AutogradContext* context, variable_list grads) {
    const QuantWeight& weight = held_weight(context);
    const auto entered = static_cast<at::ScalarType>(context->saved_data["entered"].toInt());
    const at::Tensor y_grad = grads[0].to(entered).contiguous();
    at::Tensor x_grad = at::empty({y_grad.size(0), weight.k()}, y_grad.options());
    if (weight.is_on_cpu()) {
      quant_input_grad(x_grad.mutable_data_ptr<float>(), y_grad.const_data_ptr<float>(), y_grad.size(0), weight);
    } else {
      gpu_quant_input_gradient(x_grad, y_grad, weight);
    }
    return {x_grad, at::Tensor(), at::Tensor(), at::Tensor()};
  }
};

}  // namespace

kernels::QuantRows quant_rows(const float* x, int64_t x_stride, int64_t m, int64_t k, int num_helpers) {
  const kernels::QuantRows rows = room_for_rows<Scratch::kRounded>(m, k);
  constexpr int64_t kRows = 16;
  share_items(num_items(m, kRows), num_helpers, m * k, [&](int64_t item) {
    for (int64_t row = item * kRows; row < std::min(m, (item + 1) * kRows); ++row) {
      kernels::quant_row(rows, row, x + row * x_stride, k);
    }
  });
  return rows;
}

void code_linear(float* y_MN, int64_t y_stride, const kernels::QuantRows& x_MK, int64_t m, const QuantWeight& weight,
                 const float* bias_N, Activation activation, int num_helpers) {
  share_code_items(m, weight, num_helpers, [&](const CodeItem& item) {
    multiply_item(y_MN + item.row * y_stride + item.column, y_stride, x_MK, item, weight, bias_N, activation);
  });
}

kernels::QuantRows code_rows(const kernels::QuantRows& x_MK, int64_t m, const QuantWeight& weight, const float* bias_N,
                             Activation activation, int num_helpers) {
  const kernels::QuantRows rows = room_for_rows<Scratch::kBetween>(m, weight.n());
  share_code_items(m, weight, num_helpers, [&](const CodeItem& item) {
    float* const y = scratch<float, Scratch::kTile>(item.num_rows * item.width);
    multiply_item(y, item.width, x_MK, item, weight, bias_N, activation);
    const kernels::QuantRows to = rows.at(item.column / kernels::kQuantBlock);
    for (int64_t r = 0; r < item.num_rows; ++r) kernels::quant_row(to, item.row + r, y + r * item.width, item.width);
  });
  return rows;
}

void quant_product(float* y_MN, const float* x_MK, int64_t m, const QuantWeight& weight, const float* bias_N) {
  if (m == 0) return;
  if (weight.kind() == QuantKind::kNf4) return nf4_product(y_MN, x_MK, m, weight, bias_N);
  const int helpers = atens_helpers();
  code_linear(y_MN, weight.n(), quant_rows(x_MK, weight.k(), m, weight.k(), helpers), m, weight, bias_N,
              Activation::kNone, helpers);
}

void quant_input_grad(float* x_grad_MK, const float* y_grad_MN, int64_t m, const QuantWeight& weight) {
  const int64_t n = weight.n(), k = weight.k();
  // 8 MB of bf16 at once.
  const int64_t rows = std::clamp<int64_t>((int64_t{1} << 22) / k / 2 * 2, 2, n + 1);
  uint16_t* const values = scratch<uint16_t, Scratch::kWeight>(rows * k);
  float* const part = n > rows ? scratch<float, Scratch::kPart>(m * k) : nullptr;
  const Bf16Rows y_grad = round_rows(y_grad_MN, n, m, n, atens_helpers());
  for (int64_t first = 0; first < n; first += rows) {
    const int64_t count = std::min(rows, n - first);
    constexpr int64_t kRows = 16;
    claim_items(num_items(count, kRows), count * k, [&](int64_t item) {
      const int64_t row = item * kRows;
      weight.rows_to_bf16(values + row * k, first + row, std::min(kRows, count - row));
    });
    float* const to = first == 0 ? x_grad_MK : part;
    bf16_input_grad(to, {y_grad.data + first, m, count, y_grad.stride}, values, k, atens_helpers());
    if (first == 0) continue;
    claim_items(m, m * k, [&](int64_t row) {
      for (int64_t i = row * k; i < (row + 1) * k; ++i) x_grad_MK[i] += part[i];
    });
  }
}

void hold_weight(AutogradContext* context, const QuantWeight& weight) {
  context->saved_data["weight"] = c10::IValue::make_capsule(c10::make_intrusive<Held>(weight));
}

const QuantWeight& held_weight(AutogradContext* context) {
  return static_cast<const Held*>(context->saved_data["weight"].toCapsule().get())->weight;
}

at::Tensor quant_linear(const at::Tensor& x_MK, const QuantWeight& weight, const at::Tensor& bias_N,
                        at::ScalarType dtype) {
  require(x_MK.dim() == 2 && x_MK.size(1) == weight.k() &&
              (!bias_N.defined() || (bias_N.dim() == 1 && bias_N.size(0) == weight.n())),
          ErrorCode::kShape, "linear: expected x [M, ", weight.k(), "], bias [", weight.n(), "], got ", x_MK.sizes());
  require(!needs_grad(bias_N), ErrorCode::kState, "linear: a quantised weight is frozen, and so is its bias");
  require(!weight.is_on_cpu() || is_cpu_f32(x_MK), ErrorCode::kDtype,
          "linear: quantised weights: expected x in f32 on the CPU, got ", x_MK.scalar_type(), " on ", x_MK.device());
  if (!needs_grad(x_MK)) return forward_of(x_MK, weight, bias_N, dtype);
  const auto bias = bias_N.defined() ? std::optional<at::Tensor>(bias_N) : std::nullopt;
  return QuantLinearFunction::apply(x_MK, weight, bias, dtype);
}

}  // namespace seekrl::ops
