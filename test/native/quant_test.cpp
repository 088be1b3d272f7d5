// Products of quantised weights have one result: on every instruction set, for a row alone and in company; what codes
// mean is what the formulas say.
#include "kernels/products/quant.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/random.h"
#include "check.h"
#include "each_isa.h"
#include "floats.h"
#include "kernels/isa.h"
#include "kernels/products/bf16.h"

using namespace seekrl;
using namespace seekrl::kernels;
using test::Floats;
using test::random_floats;
using test::same_bits;
using test::with_each_isa;

namespace {

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

constexpr CodeForm kForms[] = {CodeForm::kByte, CodeForm::kNibble};

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

TEST("a product of a quantised weight is the exact one, with the same bits on every instruction set") {
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
