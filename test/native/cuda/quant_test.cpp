// Products with quantised weights against f64 over the weights as the CPU's reference reads them.
#include "kernels/cuda/quant/quant.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

#include "gpu.h"
#include "kernels/cuda/product/product.h"
#include "kernels/dynamic_map.h"
#include "kernels/products/bf16.h"
#include "kernels/products/quant.h"

using namespace seekrl;
using namespace seekrl::cuda;
using namespace seekrl::test;

namespace {

// A weight of random codes and scales, in the arrays of ops/quant/quant_weight.h, and its values in f32.
struct Weight {
  Weight(QuantKind kind, int64_t n, int64_t k)
      : call{kind, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, n, k} {
    kind == QuantKind::kNf4 ? fill_nf4() : fill_panels();
  }

  void fill_panels() {
    const bool is_byte = call.kind == QuantKind::kInt8;
    const auto form = is_byte ? kernels::CodeForm::kByte : kernels::CodeForm::kNibble;
    const int64_t panels = kernels::num_quant_panels(call.n), blocks = kernels::num_quant_blocks(call.k);
    random_codes(panels * blocks * kernels::panel_block_bytes(form));
    channel_scales = normals<float>(panels * 16, 2, 0.01f);
    for (const float each : normals<float>(panels * blocks * 16, 3, 0.1f)) {
      block_scales.push_back(kernels::to_f16(each));
    }
    call.channel_scales_N = is_byte ? channel_scales.data() : nullptr;
    call.block_scales = is_byte ? nullptr : block_scales.data();
    const kernels::CodePanels from{form, codes.data(), channel_scales.data(), block_scales.data(), blocks};
    for (int64_t i = 0; i < call.n * call.k; ++i) {
      values.push_back(kernels::code_value(from, i / call.k, i % call.k));
    }
  }

  void fill_nf4() {
    const int64_t blocks = kernels::num_nf4_blocks(call.k);
    random_codes(call.n * blocks * 32);
    for (int64_t i = 0; i < call.n * blocks; ++i) absmax.push_back(static_cast<uint8_t>(i * 37));
    absmax_scales = normals<float>((call.n * blocks + 255) / 256, 4, 0.3f);
    absmax_levels.assign(kernels::signed_map().decoded, kernels::signed_map().decoded + 256);
    std::sort(absmax_levels.begin(), absmax_levels.end());
    call.absmax = absmax.data();
    call.absmax_scales = absmax_scales.data();
    call.absmax_mean = &absmax_mean;
    call.absmax_levels = absmax_levels.data();
    call.levels = kernels::kNf4Levels;
    for (int64_t n = 0; n < call.n; ++n) {
      for (int64_t k = 0; k < call.k; ++k) {
        const int64_t at = n * blocks + k / 64;
        const float deviation = absmax_levels[absmax[at]] * absmax_scales[at / 256];
        const uint8_t byte = codes[at * 32 + k % 64 / 2];
        values.push_back(kernels::kNf4Levels[k % 2 == 0 ? byte >> 4 : byte & 15] * (deviation + absmax_mean));
      }
    }
  }

  void random_codes(int64_t count) {
    codes.resize(count);
    for (int64_t i = 0; i < count; ++i)
      codes[i] = static_cast<uint8_t>(static_cast<int64_t>(normal_pair(7, 1, i).first * 1e4));
    call.codes = codes.data();
  }

  QuantMatrix call;
  std::vector<uint8_t> codes, absmax;
  std::vector<float> channel_scales, absmax_scales, absmax_levels, values;
  std::vector<uint16_t> block_scales;
  float absmax_mean = 0.05f;
};

// Rows of x are 8 values further apart than they are long, those of the result 3.
template <class Number, class Out>
std::vector<Out> by_codes(const Weight& weight, const std::vector<Number>& x, const Number* bias, int64_t rows) {
  const int64_t n = weight.call.n, k = weight.call.k;
  std::vector<Out> out = poison<Out>(rows * (n + 3));
  const Dtype out_dtype = std::is_same_v<Out, float> ? Dtype::kFloat : kDtype<Number>;
  EXPECT(quant_product({out.data(), x.data(), weight.call, bias, n + 3, k + 8, rows, kDtype<Number>, out_dtype},
                       nullptr) == nullptr);
  return out;
}

// The same by way of the whole weight in 16 bits.
template <class Number, class Out>
std::vector<Out> by_numbers(const Weight& weight, const std::vector<Number>& x, const Number* bias, int64_t rows) {
  const int64_t n = weight.call.n, k = weight.call.k;
  std::vector<Number> numbers(n * k);
  EXPECT(dequantise(numbers.data(), weight.call, kDtype<Number>, nullptr) == nullptr);
  std::vector<Out> out = poison<Out>(rows * (n + 3));
  const Dtype out_dtype = std::is_same_v<Out, float> ? Dtype::kFloat : kDtype<Number>;
  EXPECT(product({out.data(), x.data(), numbers.data(), bias, n + 3, k + 8, k, rows, n, k, ProductForm::kForward,
                  kDtype<Number>, out_dtype, false},
                 nullptr) == nullptr);
  return out;
}

template <class Number, class Out>
void check_product(const Weight& weight, int64_t rows, bool has_bias) {
  const int64_t n = weight.call.n, k = weight.call.k;
  const auto x = normals<Number>(rows * (k + 8), 8), bias = normals<Number>(n, 9);
  const Number* const added = has_bias ? bias.data() : nullptr;
  const auto expected = by_numbers<Number, Out>(weight, x, added, rows);
  std::vector<double> truth(rows * n);
  std::vector<Out> dense(rows * n);
  for (int64_t i = 0; i < rows * n; ++i) {
    truth[i] = has_bias ? value(bias[i % n]) : 0;
    dense[i] = expected[i / n * (n + 3) + i % n];
    for (int64_t c = 0; c < k; ++c) {
      truth[i] += value(x[i / n * (k + 8) + c]) * value(from_float<Number>(weight.values[i % n * k + c]));
    }
  }
  EXPECT(relative_error(dense, truth) < (std::is_same_v<Out, float> ? 1e-6 : 4e-3));
  with_each_order([&] {
    const auto out = by_codes<Number, Out>(weight, x, added, rows);
    EXPECT(std::memcmp(out.data(), expected.data(), out.size() * sizeof(Out)) == 0);
  });
}

constexpr QuantKind kKinds[] = {QuantKind::kInt8, QuantKind::kInt4, QuantKind::kNf4};

}  // namespace

TEST("products with codes have the bits of those with the numbers they mean, for few rows and many, sizes by eights") {
  for (const QuantKind kind : kKinds) {
    check_product<Bf16, Bf16>(Weight(kind, 67, 328), 3, true);
    check_product<Bf16, float>(Weight(kind, 16, 1096), 16, false);
    check_product<Bf16, Bf16>(Weight(kind, 150, 136), 50, true);
    check_product<F16, F16>(Weight(kind, 33, 64), 11, false);
    check_product<F16, float>(Weight(kind, 5, 8), 1, true);
    check_product<F16, F16>(Weight(kind, 40, 72), 17, true);
  }
}

TEST("more rows than a product with codes takes are refused") {
  const Weight weight(QuantKind::kInt8, 40, 200);
  EXPECT(quant_product({nullptr, nullptr, weight.call, nullptr, 40, 200, 65, Dtype::kBf16, Dtype::kFloat}, nullptr) !=
         nullptr);
}

TEST("quantised weights become 16 bits with the bits that the CPU gives them") {
  for (const QuantKind kind : kKinds) {
    for (const auto& [n, k] : {std::pair<int64_t, int64_t>{67, 328}, {16, 64}, {3, 8}}) {
      const Weight weight(kind, n, k);
      with_each_order([&] {
        std::vector<Bf16> to = poison<Bf16>(n * k);
        EXPECT(dequantise(to.data(), weight.call, Dtype::kBf16, nullptr) == nullptr);
        for (int64_t i = 0; i < n * k; ++i) EXPECT(to[i].bits == kernels::to_bf16(weight.values[i]));
        std::vector<F16> halves = poison<F16>(n * k);
        EXPECT(dequantise(halves.data(), weight.call, Dtype::kF16, nullptr) == nullptr);
        for (int64_t i = 0; i < n * k; ++i) EXPECT(halves[i].bits == kernels::to_f16(weight.values[i]));
      });
    }
  }
}
