// The fast kernels give the reference's bits on every instruction set, wherever a row lies and whoever is its
// neighbour.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>
#include <vector>

#include "check.h"
#include "each_isa.h"
#include "floats.h"
#include "kernels/cpu/exp.h"
#include "kernels/isa.h"
#include "kernels/logprob.h"
#include "kernels/products/bf16.h"
#include "kernels/rows.h"

using namespace seekrl;
using namespace seekrl::kernels;
using test::Floats;
using test::random_floats;
using test::same_bits;
using test::with_each_isa;

TEST("exp is within 2 ulp of the exact value and zero where it vanishes") {
  for (float x = -86.9f; x < 88.0f; x += 0.0137f) {
    const double exact = std::exp(static_cast<double>(x));
    EXPECT_NEAR(exp_f32(x) / exact, 1.0, 2.4e-7);
  }
  EXPECT(exp_f32(-88.0f) == 0.0f);
  EXPECT(exp_f32(0.0f) == 1.0f);
  EXPECT(std::isnan(exp_f32(NAN)));
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

TEST("a logit of minus infinity has no share in a row's entropy and no gradient, on every instruction set") {
  const int64_t size = 1100;
  const float none = -std::numeric_limits<float>::infinity();
  Floats logits = random_floats(size, 4), kept;
  for (int64_t v = 0; v < size; ++v) {
    if (v % 5 == 2) logits[v] = none;
    if (v % 5 != 2) kept.push_back(logits[v]);
  }
  const RowStats expected = reference::row_stats(logits.data(), size, 1.25f);
  const RowStats truth = reference::row_stats(kept.data(), std::ssize(kept), 1.25f);
  EXPECT_NEAR(expected.log_sum, truth.log_sum, 2e-6);
  EXPECT_NEAR(expected.entropy, truth.entropy, 5e-6);
  for (const float entropy_grad : {0.0f, 0.7f}) {
    const RowGradients gradients{1, -0.3f, entropy_grad};
    Floats grad = logits;
    reference::row_backward(grad.data(), size, 1.25f, expected, gradients);
    EXPECT(grad[2] == 0 && std::isfinite(std::accumulate(grad.begin(), grad.end(), 0.0f)));
    with_each_isa([&] {
      const RowStats stats = row_stats(logits.data(), size, 1.25f);
      EXPECT(std::memcmp(&stats, &expected, sizeof(stats)) == 0);
      Floats own = logits;
      row_backward(own.data(), size, 1.25f, stats, gradients);
      EXPECT(same_bits(own, grad));
    });
  }
  Floats all(size, none);
  with_each_isa([&] { EXPECT(std::isnan(row_stats(all.data(), size, 1).entropy)); });
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
