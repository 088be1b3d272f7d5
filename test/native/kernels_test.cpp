// The fast kernels give the reference's bits on every instruction set, wherever a row lies and whoever is its
// neighbour.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <vector>

#include "base/random.h"
#include "check.h"
#include "each_isa.h"
#include "emulated_unit.h"
#include "kernels/attention.h"
#include "kernels/cpu/exp.h"
#include "kernels/cpu/products/fast_tiles.h"
#include "kernels/isa.h"
#include "kernels/logprob.h"
#include "kernels/products/bf16.h"
#include "kernels/products/matmul.h"
#include "kernels/products/packed.h"
#include "kernels/rows.h"

using namespace seekrl;
using namespace seekrl::kernels;
using test::same_bits;
using test::with_each_isa;

namespace {

using Floats = std::vector<float>;

Floats random_floats(int64_t count, uint64_t stream) {
  Floats values(count);
  for (int64_t i = 0; i < count; ++i) values[i] = static_cast<float>(normal_pair(7, stream, i).first);
  return values;
}

struct Product {
  int64_t m, n, k;
};

}  // namespace

TEST("exp is within 2 ulp of the exact value and zero where it vanishes") {
  for (float x = -86.9f; x < 88.0f; x += 0.0137f) {
    const double exact = std::exp(static_cast<double>(x));
    EXPECT_NEAR(exp_f32(x) / exact, 1.0, 2.4e-7);
  }
  EXPECT(exp_f32(-88.0f) == 0.0f);
  EXPECT(exp_f32(0.0f) == 1.0f);
  EXPECT(std::isnan(exp_f32(NAN)));
}

TEST("a matrix product has the same bits on every instruction set") {
  for (const auto& [m, n, k] :
       {Product{1, 1, 1}, {1, 64, 16}, {7, 65, 17}, {6, 16, 257}, {13, 100, 300}, {3, 5, 513}}) {
    const Floats a = random_floats(m * k, 1), b = random_floats(n * k, 2), bias = random_floats(n, 3);
    Floats scratch(kMatmulScratchFloats);
    for (const Start start : {Start::kZero, Start::kBias, Start::kSelf}) {
      Floats expected(m * n, 0.5f), expected_kn(m * n, 0.5f);
      reference::matmul(expected.data(), n, {a.data(), k, 1}, {b.data(), 1, k}, m, n, k, start, bias.data(), nullptr);
      reference::matmul(expected_kn.data(), n, {a.data(), 1, m}, {b.data(), n, 1}, m, n, k, start, bias.data(),
                        nullptr);
      with_each_isa([&, m = m, n = n, k = k] {
        Floats c(m * n, 0.5f), c_kn(m * n, 0.5f);
        matmul(c.data(), n, {a.data(), k, 1}, {b.data(), 1, k}, m, n, k, start, bias.data(), scratch.data());
        matmul(c_kn.data(), n, {a.data(), 1, m}, {b.data(), n, 1}, m, n, k, start, bias.data(), scratch.data());
        EXPECT(same_bits(c, expected));
        EXPECT(same_bits(c_kn, expected_kn));
      });
    }
  }
}

TEST("a row of a matrix product does not depend on the rows beside it") {
  const int64_t n = 70, k = 130;
  const Floats a = random_floats(20 * k, 1), b = random_floats(n * k, 2);
  Floats scratch(kMatmulScratchFloats), all(20 * n);
  matmul(all.data(), n, {a.data(), k, 1}, {b.data(), 1, k}, 20, n, k, Start::kZero, nullptr, scratch.data());
  for (int64_t row = 0; row < 20; ++row) {
    Floats alone(n);
    matmul(alone.data(), n, {a.data() + row * k, k, 1}, {b.data(), 1, k}, 1, n, k, Start::kZero, nullptr,
           scratch.data());
    EXPECT(same_bits(alone, Floats(all.begin() + row * n, all.begin() + (row + 1) * n)));
  }
}

TEST("the row statistics have the same bits on every instruction set and match log-softmax in double") {
  for (const int64_t size : {1, 2, 15, 16, 17, 1023, 1024, 1025, 5000}) {
    const Floats logits = random_floats(size, 4);
    const float inverse_temperature = 1.25f;
    const RowStats expected = reference::row_stats(logits.data(), size, inverse_temperature);
    double sum = 0, entropy = 0;
    for (const float x : logits) sum += std::exp(static_cast<double>(x) * inverse_temperature);
    for (const float x : logits) {
      const double z = static_cast<double>(x) * inverse_temperature - std::log(sum);
      entropy -= z * std::exp(z);
    }
    EXPECT_NEAR(expected.max + expected.log_sum, std::log(sum), 2e-6);
    EXPECT_NEAR(expected.entropy, entropy, 5e-6);
    with_each_isa([&] {
      const RowStats stats = row_stats(logits.data(), size, inverse_temperature);
      EXPECT(std::memcmp(&stats, &expected, sizeof(stats)) == 0);
    });
  }
}

TEST("row-wise kernels have the same bits on every instruction set") {
  for (const int64_t d : {2, 14, 16, 34, 130}) {
    const int64_t m = 5;
    const Floats x = random_floats(m * d, 1), y = random_floats(m * d, 2), weight = random_floats(d, 3);
    const Floats angles = random_floats(m * d / 2, 4);
    Floats expected(m * d), scales(m), gate(m * d), up(m * d), rotated(m * d), grad(m * d), weight_grad(d, 1.0f);
    reference::rms_norm(expected.data(), scales.data(), x.data(), weight.data(), m, d, 1e-6f);
    reference::rms_norm_backward(grad.data(), weight_grad.data(), y.data(), x.data(), scales.data(), weight.data(), m,
                                 d);
    const int64_t frequencies = d / 2 - d / 8;
    reference::rope(rotated.data(), x.data(), angles.data(), angles.data(), m, 1, d, frequencies, -1.0f);
    reference::silu_mul_backward(gate.data(), up.data(), y.data(), x.data(), y.data(), m * d);
    Floats gelu_gate(m * d), gelu_up(m * d), gated(m * d), capped = x;
    reference::gelu_mul(gated.data(), x.data(), y.data(), m * d);
    reference::gelu_mul_backward(gelu_gate.data(), gelu_up.data(), y.data(), x.data(), y.data(), m * d);
    reference::softcap(capped.data(), m * d, 1.5f);
    with_each_isa([&] {
      Floats out(m * d), out2(m * d), out_weight(d, 1.0f), out_scales(m);
      rms_norm(out.data(), out_scales.data(), x.data(), weight.data(), m, d, 1e-6f);
      EXPECT(same_bits(out, expected) && same_bits(out_scales, scales));
      rms_norm_backward(out.data(), out_weight.data(), y.data(), x.data(), scales.data(), weight.data(), m, d);
      EXPECT(same_bits(out, grad) && same_bits(out_weight, weight_grad));
      rope(out.data(), x.data(), angles.data(), angles.data(), m, 1, d, frequencies, -1.0f);
      EXPECT(same_bits(out, rotated));
      silu_mul_backward(out.data(), out2.data(), y.data(), x.data(), y.data(), m * d);
      EXPECT(same_bits(out, gate) && same_bits(out2, up));
      gelu_mul(out.data(), x.data(), y.data(), m * d);
      EXPECT(same_bits(out, gated));
      gelu_mul_backward(out.data(), out2.data(), y.data(), x.data(), y.data(), m * d);
      EXPECT(same_bits(out, gelu_gate) && same_bits(out2, gelu_up));
      Floats bounded = x;
      softcap(bounded.data(), m * d, 1.5f);
      EXPECT(same_bits(bounded, capped));
    });
  }
}

TEST("a packed product has the bits of the plain one on every instruction set") {
  for (const auto& [m, n, k] : {Product{1, 1, 2}, {7, 65, 18}, {6, 64, 256}, {13, 100, 300}, {3, 130, 514}}) {
    const Floats a = random_floats(m * k, 1), b = random_floats(n * k, 2), bias = random_floats(n, 3);
    Floats expected(m * n), packed(num_packed_panels(n) * kPanelColumns * k);
    reference::matmul(expected.data(), n, {a.data(), k, 1}, {b.data(), 1, k}, m, n, k, Start::kBias, bias.data(),
                      nullptr);
    pack_weight(packed.data(), b.data(), n, k);
    with_each_isa([&, m = m, n = n, k = k] {
      Floats c(m * n);
      for (int64_t column = 0; column < n; column += kPanelColumns) {
        packed_matmul(c.data() + column, n, a.data(), k, packed.data() + column * k, m,
                      std::min(kPanelColumns, n - column), k, bias.data() + column);
      }
      EXPECT(same_bits(c, expected));
    });
  }
}

std::vector<uint16_t> rounded(const Floats& x) {
  std::vector<uint16_t> result(x.size());
  round_to_bf16(result.data(), x.data(), static_cast<int64_t>(x.size()));
  return result;
}

// sum over i of a[i] b[i] in double.
double exact_dot(const uint16_t* a, int64_t a_step, const uint16_t* b, int64_t b_step, int64_t k) {
  double sum = 0;
  for (int64_t i = 0; i < k; ++i) sum += static_cast<double>(from_bf16(a[i * a_step])) * from_bf16(b[i * b_step]);
  return sum;
}

TEST("a product of a few bf16 rows has the bits of that with panels, which is the exact one up to f32 sums") {
  for (const auto& [m, n, k] :
       {Product{1, 1, 2}, {2, 21, 2}, {3, 6, 34}, {7, 65, 18}, {6, 64, 256}, {8, 100, 300}, {1, 37, 64}}) {
    const Floats bias = random_floats(n, 3);
    with_each_isa([&, m = m, n = n, k = k] {
      const std::vector<uint16_t> a = rounded(random_floats(m * k, 1)), b = rounded(random_floats(n * k, 2));
      for (const float* const start : {static_cast<const float*>(nullptr), bias.data()}) {
        Floats c(m * n), by_panels(m * n);
        few_matmul(c.data(), n, {a.data(), k}, {b.data(), k}, m, n, k, start);
        for (int64_t i = 0; i < m * n; ++i) {
          const double sum = exact_dot(a.data() + i / n * k, 1, b.data() + i % n * k, 1, k);
          // k sums of terms of about one, each rounded to f32.
          EXPECT_NEAR(c[i], sum + (start == nullptr ? 0.0f : start[i % n]), 1e-6 * static_cast<double>(k) + 1e-6);
          by_panels[i] = start == nullptr ? 0.0f : start[i % n];
        }
        if (has_tiles()) continue;
        std::vector<uint16_t> panel(k * kPanelColumns, 1);
        for (int64_t column = 0; column < n; column += kPanelColumns) {
          const int64_t columns = std::min(kPanelColumns, n - column), half = k / 4 * 2;
          // In two parts of K: the sums rest in memory between them.
          for (const auto& [from, count] : {std::pair{int64_t{0}, half}, {half, k - half}}) {
            pair_columns(panel.data(), {b.data() + column * k + from, k}, columns, count);
            pair_matmul(by_panels.data() + column, n, {a.data() + from, k}, panel.data(), m, columns, count,
                        Start::kSelf);
          }
        }
        EXPECT(same_bits(c, by_panels));
      }
    });
  }
}

TEST("a product with a panel is the exact one up to f32 sums, from zero and on top of what is there") {
  for (const auto& [m, n, k] : {Product{1, 1, 2}, {7, 64, 18}, {6, 33, 258}, {13, 50, 300}}) {
    with_each_isa([&, m = m, n = n, k = k] {
      const std::vector<uint16_t> a = rounded(random_floats(m * k, 1)), b = rounded(random_floats(k * n, 2));
      std::vector<uint16_t> panel(k * kPanelColumns, 1);
      pair_rows(panel.data(), b.data(), n, k, n);
      for (const Start start : {Start::kZero, Start::kSelf}) {
        Floats c(m * n, 0.5f);
        pair_matmul(c.data(), n, {a.data(), k}, panel.data(), m, n, k, start);
        for (int64_t row = 0; row < m; ++row) {
          for (int64_t column = 0; column < n; ++column) {
            const double sum =
                exact_dot(a.data() + row * k, 1, b.data() + column, n, k) + (start == Start::kSelf ? 0.5 : 0);
            EXPECT_NEAR(c[row * n + column], sum, 1e-6 * static_cast<double>(k) + 1e-6);
          }
        }
      }
    });
  }
}

TEST("a matrix unit's tiles give the exact product up to f32 sums, whatever part of a tile exists") {
  for (const auto& [m, n, k] :
       {Product{1, 1, 2}, {16, 16, 32}, {33, 17, 34}, {31, 64, 64}, {40, 48, 66}, {64, 33, 96}}) {
    const std::vector<uint16_t> a = rounded(random_floats(m * k, 1)), b = rounded(random_floats(k * n, 2));
    std::vector<uint16_t> panel(k * kPanelColumns, 1);
    pair_rows(panel.data(), b.data(), n, k, n);
    for (const Start start : {Start::kZero, Start::kSelf}) {
      Floats c(m * n, 0.5f);
      tile_matmul<test::EmulatedUnit>(c.data(), n, {a.data(), k}, panel.data(), m, n, k, start);
      for (int64_t row = 0; row < m; ++row) {
        for (int64_t column = 0; column < n; ++column) {
          const double sum =
              exact_dot(a.data() + row * k, 1, b.data() + column, n, k) + (start == Start::kSelf ? 0.5 : 0);
          EXPECT_NEAR(c[row * n + column], sum, 1e-6 * static_cast<double>(k) + 1e-6);
        }
      }
    }
  }
}

TEST("rows become a panel's columns and back, and the panel is that of the transposed rows") {
  for (const auto& [columns, k] : {std::pair<int64_t, int64_t>{1, 2}, {17, 34}, {64, 64}, {63, 100}}) {
    with_each_isa([&, columns = columns, k = k] {
      const int64_t stride = (k + 31) / 32 * 32;
      const std::vector<uint16_t> rows = rounded(random_floats(columns * stride, 1));
      std::vector<uint16_t> turned(k * columns), panel(k * kPanelColumns, 1), expected(k * kPanelColumns, 2);
      for (int64_t i = 0; i < k; ++i) {
        for (int64_t column = 0; column < columns; ++column) turned[i * columns + column] = rows[column * stride + i];
      }
      pair_columns(panel.data(), {rows.data(), stride}, columns, k);
      pair_rows(expected.data(), turned.data(), columns, k, columns);
      EXPECT(panel == expected);
      std::vector<uint16_t> back(columns * stride, 1);
      unpair_columns(back.data(), stride, panel.data(), columns, k);
      for (int64_t column = 0; column < columns; ++column) {
        for (int64_t i = 0; i < stride; ++i) {
          EXPECT(back[column * stride + i] == (i < k ? rows[column * stride + i] : 0));
        }
      }
    });
  }
}

TEST("rounding to bf16 takes the nearest, ties to even, and keeps what is no number") {
  EXPECT(from_bf16(to_bf16(1.0f)) == 1.0f);
  EXPECT(from_bf16(to_bf16(1.00390625f)) == 1.0f);        // 1 + 2^-8: halfway, down to the even one
  EXPECT(from_bf16(to_bf16(1.01171875f)) == 1.015625f);   // 1 + 3 * 2^-8: halfway, up to the even one
  EXPECT(from_bf16(to_bf16(1.00390637f)) == 1.0078125f);  // just above halfway
  EXPECT(std::isnan(from_bf16(to_bf16(NAN))));
  const Floats x = random_floats(1000, 4);
  with_each_isa([&] {
    std::vector<uint16_t> rounded(x.size());
    round_to_bf16(rounded.data(), x.data(), static_cast<int64_t>(x.size()));
    for (size_t i = 0; i < x.size(); ++i) EXPECT(rounded[i] == to_bf16(x[i]));
  });
}

TEST("layer norm and gelu have the same bits on every instruction set and are close to the exact values") {
  for (const int64_t d : {1, 15, 16, 33, 384}) {
    const int64_t m = 3;
    const Floats x = random_floats(m * d, 1), residual = random_floats(m * d, 2), weight = random_floats(d, 3),
                 bias = random_floats(d, 4);
    Floats expected(m * d), expected_alone(m * d), expected_gelu(m * d);
    reference::add_layer_norm(expected.data(), x.data(), residual.data(), weight.data(), bias.data(), m, d, 1e-12f);
    reference::add_layer_norm(expected_alone.data(), x.data(), nullptr, weight.data(), bias.data(), m, d, 1e-12f);
    reference::gelu(expected_gelu.data(), x.data(), m * d);
    with_each_isa([&] {
      Floats y(m * d), activated(m * d), in_place = residual;
      add_layer_norm(y.data(), x.data(), nullptr, weight.data(), bias.data(), m, d, 1e-12f);
      EXPECT(same_bits(y, expected_alone));
      add_layer_norm(in_place.data(), x.data(), in_place.data(), weight.data(), bias.data(), m, d, 1e-12f);
      EXPECT(same_bits(in_place, expected));
      gelu(activated.data(), x.data(), m * d);
      EXPECT(same_bits(activated, expected_gelu));
    });
    for (int64_t i = 0; i < m * d; ++i) {
      const double exact = x[i] * 0.5 * (1.0 + std::erf(x[i] * 0.70710678118654752));
      EXPECT_NEAR(expected_gelu[i], exact, 4e-7);
    }
    if (d < 16) continue;
    for (int64_t row = 0; row < m; ++row) {
      double mean = 0, variance = 0;
      for (int64_t i = 0; i < d; ++i) mean += (static_cast<double>(x[row * d + i]) + residual[row * d + i]) / d;
      for (int64_t i = 0; i < d; ++i) variance += std::pow(x[row * d + i] + residual[row * d + i] - mean, 2) / d;
      for (int64_t i = 0; i < d; ++i) {
        const double z = static_cast<double>(x[row * d + i]) + residual[row * d + i];
        EXPECT_NEAR(expected[row * d + i], (z - mean) / std::sqrt(variance) * weight[i] + bias[i], 1e-5);
      }
    }
  }
}
