// By what the head is stored as: bf16, f32 or quantised.
#include "ops/head/head_products.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "kernels/products/bf16.h"
#include "ops/parallel.h"
#include "ops/products/bf16_matmul.h"
#include "ops/products/matmul.h"
#include "ops/products/quant_linear.h"

namespace seekrl::ops {

namespace {

// Rounds rows of V floats in place: each becomes V values of bf16 at its own beginning.
Bf16Rows round_in_place(float* values, int64_t rows, int64_t v) {
  constexpr int64_t kBlock = 4096;
  claim_items(rows, rows * v, [&](int64_t row) {
    uint16_t block[kBlock];
    float* const from = values + row * v;
    auto* const to = reinterpret_cast<std::byte*>(from);
    // What is written ends before what is read next begins.
    for (int64_t first = 0; first < v; first += kBlock) {
      const int64_t count = std::min(kBlock, v - first);
      kernels::round_to_bf16(block, from + first, count);
      std::memcpy(to + first * 2, block, static_cast<size_t>(count) * 2);
    }
    if (v % 2 != 0) std::memset(to + v * 2, 0, 2);
  });
  return {reinterpret_cast<const uint16_t*>(values), rows, v, 2 * v};
}

// A few thousand of the head's outputs at once: what is laid out by columns of them takes 5 MB rather than 50.
void head_weight_grad(float* weight_grad, const Bf16Rows& grad, const Bf16Rows& hidden) {
  constexpr int64_t kOutputs = 16384;
  for (int64_t first = 0; first < grad.k; first += kOutputs) {
    const Bf16Rows part = {grad.data + first, grad.m, std::min(kOutputs, grad.k - first), grad.stride};
    bf16_weight_grad(weight_grad + first * hidden.k, part, hidden, atens_helpers());
  }
}

}  // namespace

void head_logits(const at::Tensor& logits, const at::Tensor& hidden_RD, int64_t first, int64_t rows,
                 const Weight& head_VD) {
  const int64_t v = head_VD.n(), d = head_VD.k();
  const float* hidden = hidden_RD.const_data_ptr<float>() + first * d;
  float* to = logits.mutable_data_ptr<float>();
  if (head_VD.is_quant()) return quant_product(to, hidden, rows, head_VD.quant, nullptr);
  const at::Tensor& weight_VD = head_VD.plain_NK;
  if (weight_VD.scalar_type() == at::kBFloat16) {
    bf16_linear(to, v, round_rows(hidden, d, rows, d, atens_helpers()), bits_of(weight_VD), v, nullptr,
                Activation::kNone, atens_helpers());
    return;
  }
  parallel_matmul(to, v, {hidden, d, 1}, {weight_VD.const_data_ptr<float>(), 1, d}, rows, v, d, kernels::Start::kZero,
                  nullptr);
}

void head_backward(float* hidden_grad, float* weight_grad, const at::Tensor& logits_grad, const at::Tensor& hidden_RD,
                   int64_t first, int64_t rows, const Weight& head_VD) {
  const int64_t v = head_VD.n(), d = head_VD.k();
  float* const grad = logits_grad.mutable_data_ptr<float>();
  const float* const hidden = hidden_RD.const_data_ptr<float>() + first * d;
  if (head_VD.is_quant()) {
    if (hidden_grad != nullptr) quant_input_grad(hidden_grad + first * d, grad, rows, head_VD.quant);
    return;
  }
  const at::Tensor& weight_VD = head_VD.plain_NK;
  if (weight_VD.scalar_type() == at::kBFloat16) {
    const Bf16Rows grad_rows = round_in_place(grad, rows, v);
    if (hidden_grad != nullptr) {
      bf16_input_grad(hidden_grad + first * d, grad_rows, bits_of(weight_VD), d, atens_helpers());
    }
    if (weight_grad == nullptr) return;
    const at::Tensor rounded = rounded_rows(hidden_RD.narrow(0, first, rows));
    return head_weight_grad(weight_grad, grad_rows, bf16_rows(rounded, d));
  }
  if (hidden_grad != nullptr) {
    parallel_matmul(hidden_grad + first * d, d, {grad, v, 1}, {weight_VD.const_data_ptr<float>(), d, 1}, rows, d, v,
                    kernels::Start::kZero, nullptr);
  }
  if (weight_grad != nullptr) {
    parallel_matmul(weight_grad, d, {grad, 1, v}, {hidden, d, 1}, v, d, rows, kernels::Start::kSelf, nullptr);
  }
}

}  // namespace seekrl::ops
