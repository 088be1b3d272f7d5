// Matrix products: one result on every instruction set, of f32 that of the reference, of bf16 the exact one up to sums.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "check.h"
#include "each_isa.h"
#include "emulated_unit.h"
#include "floats.h"
#include "kernels/cpu/products/fast_tiles.h"
#include "kernels/products/bf16.h"
#include "kernels/products/matmul.h"
#include "kernels/products/packed.h"

using namespace seekrl;
using namespace seekrl::kernels;
using test::Floats;
using test::random_floats;
using test::same_bits;
using test::with_each_isa;

namespace {

struct Product {
  int64_t m, n, k;
};

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

// Column i of `count` rows, `stride` values apart, as row i of K.
std::vector<uint16_t> turned(const std::vector<uint16_t>& rows, int64_t stride, int64_t count, int64_t k) {
  std::vector<uint16_t> columns(k * count);
  for (int64_t i = 0; i < k; ++i) {
    for (int64_t row = 0; row < count; ++row) columns[i * count + row] = rows[row * stride + i];
  }
  return columns;
}

}  // namespace

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
            strip_columns(panel.data(), {b.data() + column * k + from, k}, columns, count);
            pair_matmul(by_panels.data() + column, n, {a.data() + from, k}, {panel.data(), count}, m, columns, count,
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

TEST("a panel in strips gives the bits of the panel") {
  for (const auto& [m, n, k] : {Product{1, 1, 2}, {7, 64, 18}, {6, 33, 258}, {40, 50, 96}}) {
    with_each_isa([&, m = m, n = n, k = k] {
      const std::vector<uint16_t> a = rounded(random_floats(m * k, 1)), b = rounded(random_floats(n * k, 2));
      std::vector<uint16_t> panel(k * kPanelColumns, 1), strips(k * kPanelColumns, 1);
      pair_rows(panel.data(), turned(b, k, n, k).data(), n, k, n);
      strip_columns(strips.data(), {b.data(), k}, n, k);
      Floats expected(m * n), c(m * n);
      pair_matmul(expected.data(), n, {a.data(), k}, panel.data(), m, n, k, Start::kZero);
      pair_matmul(c.data(), n, {a.data(), k}, {strips.data(), k}, m, n, k, Start::kZero);
      EXPECT(same_bits(c, expected));
      tile_matmul<test::EmulatedUnit>(expected.data(), n, {a.data(), k}, panel.data(), m, n, k, Start::kZero);
      tile_matmul<test::EmulatedUnit>(c.data(), n, {a.data(), k}, {strips.data(), k}, m, n, k, Start::kZero);
      EXPECT(same_bits(c, expected));
    });
  }
}

TEST("a panel's columns become rows again") {
  for (const auto& [columns, k] : {std::pair<int64_t, int64_t>{1, 2}, {17, 34}, {64, 64}, {63, 100}}) {
    with_each_isa([&, columns = columns, k = k] {
      const int64_t stride = (k + 31) / 32 * 32;
      const std::vector<uint16_t> rows = rounded(random_floats(columns * stride, 1));
      std::vector<uint16_t> panel(k * kPanelColumns, 1);
      pair_rows(panel.data(), turned(rows, stride, columns, k).data(), columns, k, columns);
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
