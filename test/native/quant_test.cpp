// Products of few bits have one result: on every instruction set, for a row alone and in company; what codes mean is
// what the formulas say.
#include "kernels/products/quant.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/linear.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "base/random.h"
#include "check.h"
#include "each_isa.h"
#include "kernels/isa.h"
#include "kernels/products/bf16.h"
#include "ops/products/bf16_matmul.h"
#include "ops/products/linear.h"
#include "ops/products/quant_linear.h"
#include "ops/token_logprob.h"

using namespace seekrl;
using namespace seekrl::kernels;
using ops::QuantKind;
using ops::QuantWeight;
using test::same_bits;
using test::with_each_isa;

namespace {

using Floats = std::vector<float>;

bool same_bits(const at::Tensor& a, const at::Tensor& b) {
  return a.sizes() == b.sizes() && std::memcmp(a.const_data_ptr(), b.const_data_ptr(), a.nbytes()) == 0;
}

// Random codes of any form.
struct Codes {
  std::vector<uint8_t> codes;
  Floats channel_scales;
  std::vector<uint16_t> scales;
  CodePanels panels;

  Codes(CodeForm form, int64_t n, int64_t k) {
    const int64_t blocks = num_quant_blocks(k), num_panels = num_quant_panels(n);
    codes.resize(num_panels * blocks * panel_block_bytes(form));
    for (size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<uint8_t>(random_bits(3, 1, i));
    channel_scales.assign(num_panels * kQuantLanes, 0);
    for (float& scale : channel_scales) scale = 0.01f * static_cast<float>(1 + (&scale - channel_scales.data()) % 7);
    for (int64_t i = 0; i < num_panels * blocks * kQuantLanes; ++i) {
      scales.push_back(to_f16(0.02f * static_cast<float>(1 + i % 5)));
    }
    panels = {form, codes.data(), channel_scales.data(), scales.data(), blocks};
  }

  static uint64_t random_bits(uint64_t seed, uint64_t stream, uint64_t i) {
    return static_cast<uint64_t>(std::fabs(normal_pair(seed, stream, i).first) * 1e6);
  }
};

// Rounded rows and where they lie.
struct Rows {
  std::vector<int8_t> values;
  Floats scales;
  std::vector<int32_t> sums;
  QuantRows rows;

  Rows(int64_t m, int64_t k) : values(m * num_quant_blocks(k) * kQuantBlock, 99) {
    scales.resize(m * num_quant_blocks(k));
    sums.resize(m * num_quant_blocks(k));
    rows = {values.data(), scales.data(), sums.data(), num_quant_blocks(k)};
  }
};

Floats random_floats(int64_t count, uint64_t stream) {
  Floats values(count);
  for (int64_t i = 0; i < count; ++i) values[i] = static_cast<float>(normal_pair(7, stream, i).first);
  return values;
}

constexpr CodeForm kForms[] = {CodeForm::kByte, CodeForm::kNibble};

at::Tensor random_tensor(at::IntArrayRef shape, uint64_t stream) {
  at::Tensor values = at::empty(shape, at::kFloat);
  const Floats drawn = random_floats(values.numel(), stream);
  std::copy(drawn.begin(), drawn.end(), values.mutable_data_ptr<float>());
  return values;
}

QuantWeight quantised(QuantKind kind, const at::Tensor& plain_NK) {
  QuantWeight weight(kind, plain_NK.size(0), plain_NK.size(1));
  ops::quantise(weight, plain_NK);
  return weight;
}

}  // namespace

TEST("f16 is read and rounded as the standard says") {
  for (int64_t bits = 0; bits < 65536; ++bits) {
    const auto half = static_cast<uint16_t>(bits);
    const float value = from_f16(half);
    if (std::isnan(value)) continue;
    EXPECT(to_f16(value) == half);
    if (std::isinf(value) || (half & 0x7fffu) == 0x7bffu) continue;
    const float next = from_f16(static_cast<uint16_t>(half + 1)), middle = (value + next) / 2;
    EXPECT(to_f16(middle) == (half % 2 == 0 ? half : half + 1));
    EXPECT(to_f16(std::nextafter(middle, next)) == half + 1);
  }
  EXPECT(to_f16(65519.99f) == 0x7bff && to_f16(65520.0f) == 0x7c00 && to_f16(-1e30f) == 0xfc00);
}

TEST("activations are rounded to int8 alike on every instruction set") {
  for (const int64_t k : {1, 5, 31, 32, 33, 200}) {
    Floats x = random_floats(k, 1);
    if (k == 200) {
      std::fill(x.begin(), x.begin() + 32, 0.0f);
      x[40] = std::numeric_limits<float>::infinity();
      x[70] = std::numeric_limits<float>::quiet_NaN();
      x[100] = 1e-38f * 1e-3f;
      x[130] = 1e30f;
    }
    Rows expected(1, k);
    reference::quant_row(expected.rows, 0, x.data(), k);
    with_each_isa([&] {
      Rows found(1, k);
      quant_row(found.rows, 0, x.data(), k);
      EXPECT(found.values == expected.values && found.sums == expected.sums);
      for (size_t i = 0; i < found.scales.size(); ++i) {
        EXPECT(found.scales[i] == expected.scales[i] ||
               (std::isnan(found.scales[i]) && std::isnan(expected.scales[i])));
      }
    });
    if (k != 200) continue;
    EXPECT(expected.scales[0] == 0 && std::isnan(expected.scales[1]) && std::isnan(expected.scales[2]));
    EXPECT_NEAR(expected.scales[4] * 127 / 1e30f, 1, 1e-6);
  }
}

TEST("a product of few bits is the exact one, with the same bits on every instruction set") {
  for (const CodeForm form : kForms) {
    for (const auto& [m, n, k] :
         std::vector<std::array<int64_t, 3>>{{1, 1, 1}, {1, 40, 64}, {7, 17, 33}, {13, 50, 100}, {6, 32, 96}}) {
      const Codes codes(form, n, k);
      const Floats x = random_floats(m * k, 2), bias = random_floats(n, 3);
      Rows a(m, k);
      for (int64_t row = 0; row < m; ++row) quant_row(a.rows, row, x.data() + row * k, k);
      for (const float* biases : {bias.data(), static_cast<const float*>(nullptr)}) {
        Floats expected(m * n);
        reference::quant_matmul(expected.data(), n, a.rows, 0, codes.panels, m, n, biases);
        for (int64_t row = 0; row < m; ++row) {
          for (int64_t column = 0; column < n; ++column) {
            double sum = biases == nullptr ? 0 : biases[column], size = 0;
            for (int64_t i = 0; i < k; ++i) {
              const int64_t at = row * a.rows.num_blocks + i / kQuantBlock;
              const double value = a.scales[at] * static_cast<double>(a.values[at * kQuantBlock + i % kQuantBlock]);
              sum += value * code_value(codes.panels, column, i);
              size += std::fabs(value * code_value(codes.panels, column, i));
            }
            EXPECT_NEAR(expected[row * n + column], sum, 1e-6 * size + 1e-6);
          }
        }
        with_each_isa([&, m = m, n = n] {
          Floats c(m * n);
          quant_matmul(c.data(), n, a.rows, 0, codes.panels, m, n, biases);
          EXPECT(same_bits(c, expected));
          Floats alone(m * n);
          for (int64_t row = 0; row < m; ++row) {
            quant_matmul(alone.data() + row * n, n, a.rows, row, codes.panels, 1, n, biases);
          }
          EXPECT(same_bits(alone, expected));
        });
      }
    }
  }
}

TEST("a product rounded for a next one has the bits of its rows, rounded") {
  for (const auto& [m, n, k] : std::vector<std::array<int64_t, 3>>{{1, 7, 32}, {9, 64, 40}, {300, 100, 64}}) {
    QuantWeight weight(QuantKind::kInt8, n, k);
    ops::quantise(weight, [&, k = k](float* rows, int64_t first, int64_t count) {
      for (int64_t i = 0; i < count; ++i) {
        const Floats row = random_floats(k, static_cast<int>(first + i));
        std::copy(row.begin(), row.end(), rows + i * k);
      }
    });
    const Floats x = random_floats(m * k, 4), bias = random_floats(n, 5);
    const auto activation = ops::Activation::kGelu;
    Floats y(m * n);
    ops::code_linear(y.data(), n, ops::quant_rows(x.data(), k, m, k, 0), m, weight, bias.data(), activation, 0);
    const int64_t num_blocks = m * num_quant_blocks(n);
    const QuantRows found =
        ops::code_rows(ops::quant_rows(x.data(), k, m, k, 1), m, weight, bias.data(), activation, 1);
    const QuantRows expected = ops::quant_rows(y.data(), n, m, n, 0);
    EXPECT(std::equal(found.values, found.values + num_blocks * kQuantBlock, expected.values));
    EXPECT(std::equal(found.scales, found.scales + num_blocks, expected.scales));
    EXPECT(std::equal(found.sums, found.sums + num_blocks, expected.sums));
  }
}

TEST("codes and NF4 become bf16 alike on every instruction set") {
  for (const int64_t k : {1, 31, 64, 100, 130}) {
    for (const CodeForm form : kForms) {
      const Codes codes(form, 20, k);
      for (const int64_t n : {0, 15, 16, 19}) {
        std::vector<uint16_t> expected(k);
        reference::codes_to_bf16(expected.data(), codes.panels, n, k);
        with_each_isa([&] {
          std::vector<uint16_t> found(k);
          codes_to_bf16(found.data(), codes.panels, n, k);
          EXPECT(found == expected);
        });
      }
    }
    const Codes codes(CodeForm::kByte, 16, 2 * k);
    const Floats absmax = {0.31f, 1e-3f, 7.0f};
    std::vector<uint16_t> expected(k);
    reference::nf4_to_bf16(expected.data(), codes.codes.data(), absmax.data(), k);
    with_each_isa([&] {
      std::vector<uint16_t> found(k);
      nf4_to_bf16(found.data(), codes.codes.data(), absmax.data(), k);
      EXPECT(found == expected);
    });
  }
}

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

TEST("a product of NF4 has the bits of bf16's with the weight that its codes mean") {
  for (const int64_t m : {1, 3, 40}) {
    const int64_t n = 150, k = 200;
    const at::Tensor x = random_tensor({m, k}, 5), bias = random_tensor({n}, 6);
    const QuantWeight weight = quantised(QuantKind::kNf4, random_tensor({n, k}, 7));
    const at::Tensor plain = weight.to_float().to(at::kBFloat16);
    EXPECT(same_bits(ops::quant_linear(x, weight, bias), ops::linear(x, plain, bias)));
  }
}

TEST("a product of few bits is close to the f32 one over what the codes mean") {
  const int64_t m = 9, n = 70, k = 160;
  const at::Tensor x = random_tensor({m, k}, 5), bias = random_tensor({n}, 6);
  for (const QuantKind kind : {QuantKind::kInt8, QuantKind::kInt4, QuantKind::kNf4}) {
    const QuantWeight weight = quantised(kind, random_tensor({n, k}, 7));
    const at::Tensor expected = at::linear(x, weight.to_float(), bias);
    const double gap = (ops::quant_linear(x, weight, bias) - expected).norm().item<double>();
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
    ops::quant_linear(x, weight, {}).backward(y_grad);
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
