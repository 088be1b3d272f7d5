// Quantised weights as ops: what quantising costs, and that products and gradients are those over what the codes mean.
#include "ops/quant/quant_weight.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/linear.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>
#include <vector>

#include "check.h"
#include "floats.h"
#include "ops/head/token_logprob.h"
#include "ops/products/bf16_matmul.h"
#include "ops/products/linear.h"
#include "ops/products/quant_linear.h"

using namespace seekrl;
using ops::QuantKind;
using ops::QuantWeight;

namespace {

bool same_bits(const at::Tensor& a, const at::Tensor& b) {
  return a.sizes() == b.sizes() && std::memcmp(a.const_data_ptr(), b.const_data_ptr(), a.nbytes()) == 0;
}

at::Tensor random_tensor(at::IntArrayRef shape, uint64_t stream) {
  at::Tensor values = at::empty(shape, at::kFloat);
  const test::Floats drawn = test::random_floats(values.numel(), stream);
  std::copy(drawn.begin(), drawn.end(), values.mutable_data_ptr<float>());
  return values;
}

QuantWeight quantised(QuantKind kind, const at::Tensor& plain_NK) {
  QuantWeight weight(kind, plain_NK.size(0), plain_NK.size(1));
  ops::quantise(weight, "weight", plain_NK);
  return weight;
}

}  // namespace

TEST("a quantised weight is within the error that its formula allows") {
  for (const auto& [n, k] : std::vector<std::array<int64_t, 2>>{{1, 1}, {17, 33}, {40, 200}, {64, 640}}) {
    const at::Tensor plain = random_tensor({n, k}, 4);
    const at::Tensor absmax_N = plain.abs().amax(1, true);
    const at::Tensor int8 = quantised(QuantKind::kInt8, plain).to_float();
    EXPECT(((int8 - plain).abs() <= absmax_N / 254 * 1.0001).all().item<bool>());
    const at::Tensor int4 = quantised(QuantKind::kInt4, plain).to_float();
    const at::Tensor nf4 = quantised(QuantKind::kNf4, plain).to_float();
    for (int64_t first = 0; first < k; first += 32) {
      const at::Tensor block = plain.slice(1, first, first + 32), found = int4.slice(1, first, first + 32);
      // The value furthest from zero is -8 steps away; one as far on the other side is a step short. f16 adds 2^-11.
      EXPECT(((found - block).abs() <= block.abs().amax(1, true) / 8 * 1.01).all().item<bool>());
    }
    for (int64_t first = 0; first < k; first += 64) {
      const at::Tensor block = plain.slice(1, first, first + 64), found = nf4.slice(1, first, first + 64);
      // Half of the widest gap between levels, and what the absmax and bf16 lose.
      EXPECT(((found - block).abs() <= block.abs().amax(1, true) * (0.152 + 0.03)).all().item<bool>());
    }
  }
}

TEST("a product rounded for a next one has the bits of its rows, rounded") {
  for (const auto& [m, n, k] : std::vector<std::array<int64_t, 3>>{{1, 7, 32}, {9, 64, 40}, {300, 100, 64}}) {
    QuantWeight weight(QuantKind::kInt8, n, k);
    ops::quantise(weight, "weight", [&, k = k](float* rows, int64_t first, int64_t count) {
      for (int64_t i = 0; i < count; ++i) {
        const test::Floats row = test::random_floats(k, static_cast<int>(first + i));
        std::copy(row.begin(), row.end(), rows + i * k);
      }
    });
    const test::Floats x = test::random_floats(m * k, 4), bias = test::random_floats(n, 5);
    const auto activation = ops::Activation::kGelu;
    test::Floats y(m * n);
    ops::code_linear(y.data(), n, ops::quant_rows(x.data(), k, m, k, 0), m, weight, bias.data(), activation, 0);
    const int64_t num_blocks = m * kernels::num_quant_blocks(n);
    const kernels::QuantRows found =
        ops::code_rows(ops::quant_rows(x.data(), k, m, k, 1), m, weight, bias.data(), activation, 1);
    const kernels::QuantRows expected = ops::quant_rows(y.data(), n, m, n, 0);
    EXPECT(std::equal(found.values, found.values + num_blocks * kernels::kQuantBlock, expected.values));
    EXPECT(std::equal(found.scales, found.scales + num_blocks, expected.scales));
    EXPECT(std::equal(found.sums, found.sums + num_blocks, expected.sums));
  }
}

TEST("a product of NF4 has the bits of bf16's with the weight that its codes mean") {
  for (const int64_t m : {1, 3, 40}) {
    const int64_t n = 150, k = 200;
    const at::Tensor x = random_tensor({m, k}, 5), bias = random_tensor({n}, 6);
    const QuantWeight weight = quantised(QuantKind::kNf4, random_tensor({n, k}, 7));
    const at::Tensor plain = weight.to_float().to(at::kBFloat16);
    EXPECT(same_bits(ops::quant_linear(x, weight, bias, at::kFloat), ops::linear(x, plain, bias)));
  }
}

TEST("a product of a quantised weight is close to the f32 one over what the codes mean") {
  const int64_t m = 9, n = 70, k = 160;
  const at::Tensor x = random_tensor({m, k}, 5), bias = random_tensor({n}, 6);
  for (const QuantKind kind : {QuantKind::kInt8, QuantKind::kInt4, QuantKind::kNf4}) {
    const QuantWeight weight = quantised(kind, random_tensor({n, k}, 7));
    const at::Tensor expected = at::linear(x, weight.to_float(), bias);
    const double gap = (ops::quant_linear(x, weight, bias, at::kFloat) - expected).norm().item<double>();
    // Half a step of 127 at the largest of 32 normal numbers, against their own size.
    EXPECT(gap < 8e-3 * expected.norm().item<double>());
  }
}

TEST("the input gradient of a frozen weight is that of the weight its codes mean, in bf16") {
  for (const QuantKind kind : {QuantKind::kInt8, QuantKind::kInt4, QuantKind::kNf4}) {
    const int64_t m = 5, n = 67, k = 130;
    const at::Tensor y_grad = random_tensor({m, n}, 8);
    const QuantWeight weight = quantised(kind, random_tensor({n, k}, 9));
    const at::Tensor plain = weight.to_float().to(at::kBFloat16);
    at::Tensor expected = at::empty({m, k}, at::kFloat), found = at::empty({m, k}, at::kFloat);
    ops::bf16_input_grad(expected.mutable_data_ptr<float>(),
                         ops::round_rows(y_grad.const_data_ptr<float>(), n, m, n, 0), ops::bits_of(plain), k, 0);
    ops::quant_input_grad(found.mutable_data_ptr<float>(), y_grad.const_data_ptr<float>(), m, weight);
    EXPECT(same_bits(found, expected));

    const at::Tensor x = random_tensor({m, k}, 10).requires_grad_();
    ops::quant_linear(x, weight, {}, at::kFloat).backward(y_grad);
    EXPECT(same_bits(x.grad(), expected));
  }
}

TEST("log-probabilities and gradients through a head of int8 are those over what its codes mean") {
  const int64_t rows = 6, v = 90, d = 64;
  const QuantWeight head = quantised(QuantKind::kInt8, random_tensor({v, d}, 11));
  const at::Tensor ids = at::arange(rows, at::kLong), grads = random_tensor({rows}, 12);
  const at::Tensor plain = head.to_float();
  const auto run = [&](const ops::Weight& weight) {
    at::Tensor hidden = random_tensor({rows, d}, 13).mul_(0.2).requires_grad_();
    const auto found = ops::token_logprob(hidden, weight, ids, 0.8);
    (found.logprob_R * grads + found.entropy_R).sum().backward();
    return std::make_pair(found.logprob_R.detach(), hidden.grad());
  };
  const auto [logprob, grad] = run(head);
  const auto [expected, expected_grad] = run(plain);
  // Rounded activations move a logit by about 1 % of its own size, here up to 5.
  EXPECT((logprob - expected).abs().max().item<double>() < 5e-2);
  EXPECT((grad - expected_grad).norm().item<double>() < 1e-2 * expected_grad.norm().item<double>());
}
