// AdamW's kernel against libtorch's fused one, and every form of weights and moments against f32.
#include "ops/adamw.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "base/random.h"
#include "check.h"
#include "each_isa.h"
#include "kernels/isa.h"
#include "kernels/products/bf16.h"

using namespace seekrl;
using test::with_each_isa;

namespace {

constexpr int64_t kSize = 1000;  // three blocks and a part of one

at::Tensor normals(uint64_t stream, double scale) {
  at::Tensor values = at::empty({kSize}, at::kFloat);
  for (int64_t i = 0; i < kSize; ++i) {
    values.mutable_data_ptr<float>()[i] = static_cast<float>(scale * normal_pair(5, stream, i).first);
  }
  return values;
}

enum class Form { kF32, kMaster, kRandom };

ops::TrainedParameter parameter(Form form, bool has_8_bits) {
  ops::TrainedParameter made;
  made.value = normals(0, 0.05).to(at::kBFloat16);
  if (form == Form::kF32) made.value = made.value.to(at::kFloat);
  if (form == Form::kMaster) made.low = at::zeros({kSize}, at::kShort);
  made.first = ops::zero_moment({kSize}, at::kCPU, has_8_bits);
  made.second = ops::zero_moment({kSize}, at::kCPU, has_8_bits);
  made.weight_decay = 0.01;
  return made;
}

// Gradients of very different sizes, some of them zero.
at::Tensor gradient(int step) {
  at::Tensor values = normals(static_cast<uint64_t>(step), 1) * normals(99, 4).exp() * 1e-3;
  values.narrow(0, 40, 100).zero_();
  return values;
}

ops::AdamWRates rates(int step) {
  ops::AdamWRates made;
  made.learning_rate = 1e-3 / step;
  made.beta2 = 0.99;
  made.num_steps = step;
  made.gradient_divisor = step % 2 == 0 ? 1.0 : 1.7;
  return made;
}

using Update = void (*)(const std::vector<ops::TrainedParameter>&, const ops::AdamWRates&);

void by_libtorch(const std::vector<ops::TrainedParameter>& parameters, const ops::AdamWRates& rates) {
  const auto scalar = [](double value) { return at::full({}, value, at::kFloat); };
  for (const ops::TrainedParameter& each : parameters) {
    at::_fused_adamw_({each.value}, {each.gradient}, {each.first.values}, {each.second.values}, {},
                      {scalar(static_cast<double>(rates.num_steps))}, rates.learning_rate, rates.beta1, rates.beta2,
                      each.weight_decay, rates.epsilon, false, false, scalar(rates.gradient_divisor));
    each.gradient.zero_();
  }
}

ops::TrainedParameter trained(Form form, bool has_8_bits, Update update = ops::adamw) {
  ops::TrainedParameter made = parameter(form, has_8_bits);
  for (int step = 1; step <= 20; ++step) {
    made.gradient = gradient(step);
    update({made}, rates(step));
    EXPECT(made.gradient.eq(0).all().item<bool>());
  }
  return made;
}

uint32_t bits_at(const at::Tensor& x, int64_t i) { return std::bit_cast<uint32_t>(x.const_data_ptr<float>()[i]); }

bool same(const ops::TrainedParameter& a, const ops::TrainedParameter& b) {
  const auto equal = [](const at::Tensor& x, const at::Tensor& y) {
    return x.defined() == y.defined() && (!x.defined() || at::equal(x, y));
  };
  return equal(a.value, b.value) && equal(a.low, b.low) && equal(a.first.values, b.first.values) &&
         equal(a.first.scales, b.first.scales) && equal(a.second.values, b.second.values) &&
         equal(a.second.scales, b.second.scales);
}

}  // namespace

#if defined(__x86_64__)
TEST("AdamW in f32 has the bits of libtorch's fused kernel") {
  const auto expected = trained(Form::kF32, false, by_libtorch);
  with_each_isa([&] { EXPECT(same(trained(Form::kF32, false), expected)); });
}
#else
// Elsewhere libtorch's build may round otherwise, as Debian's does on aarch64; 20 steps, each within 2^-24.
TEST("AdamW in f32 is near libtorch's fused kernel") {
  const auto expected = trained(Form::kF32, false, by_libtorch), own = trained(Form::kF32, false);
  EXPECT(at::allclose(own.value, expected.value, 1e-6, 1e-8));
  EXPECT(at::allclose(own.first.values, expected.first.values, 1e-6, 1e-12));
  EXPECT(at::allclose(own.second.values, expected.second.values, 1e-6, 1e-16));
}
#endif

TEST("bf16 weights and the bits below them are updated as an f32 master, bit for bit") {
  const auto expected = trained(Form::kF32, false);
  const auto split = trained(Form::kMaster, false);
  const auto* halves = static_cast<const uint16_t*>(split.value.const_data_ptr());
  const auto* low = split.low.const_data_ptr<int16_t>();
  for (int64_t i = 0; i < kSize; ++i) {
    const uint32_t master = bits_at(expected.value, i);
    EXPECT((static_cast<uint32_t>(halves[i]) << 16) + static_cast<uint32_t>(low[i]) == master);
    // The nearest, but that ties are away from 0 rather than to even.
    if ((master & 0xffff) != 0x8000) EXPECT(halves[i] == kernels::to_bf16(std::bit_cast<float>(master)));
  }
  EXPECT(at::equal(split.first.values, expected.first.values));
  EXPECT(at::equal(split.second.values, expected.second.values));
}

TEST("AdamW has the same bits on every instruction set, in every form") {
  for (const Form form : {Form::kF32, Form::kMaster, Form::kRandom}) {
    for (const bool has_8_bits : {false, true}) {
      kernels::set_isa(kernels::Isa::kPlain);
      const auto expected = trained(form, has_8_bits);
      with_each_isa([&] { EXPECT(same(trained(form, has_8_bits), expected)); });
    }
  }
}

TEST("8-bit moments that are not finite have the same codes on every instruction set") {
  // A gradient whose square is infinite, and scales as a damaged file may have them.
  const auto broken = [](float scale) {
    ops::TrainedParameter made = parameter(Form::kF32, true);
    made.first.scales.fill_(scale);
    for (int step = 1; step <= 3; ++step) {
      made.gradient = gradient(step);
      made.gradient.narrow(0, 10, 200).fill_(1e30);
      ops::adamw({made}, rates(step));
    }
    return std::vector{made.first.values, made.first.scales.view(at::kInt), made.second.values,
                       made.second.scales.view(at::kInt)};
  };
  for (const float scale : {0.0f, std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    kernels::set_isa(kernels::Isa::kPlain);
    const auto expected = broken(scale);
    with_each_isa([&] {
      const auto actual = broken(scale);
      for (size_t i = 0; i < actual.size(); ++i) EXPECT(at::equal(actual[i], expected[i]));
    });
  }
}

TEST("rounding at random is right on average, where rounding to the nearest would move nothing") {
  ops::TrainedParameter made = parameter(Form::kRandom, false);
  const int64_t size = 1 << 18;
  made.value = at::full({size}, 1.0, at::kBFloat16);
  made.first = ops::zero_moment({size}, at::kCPU, false);
  made.second = ops::zero_moment({size}, at::kCPU, false);
  made.weight_decay = 0;
  for (int step = 1; step <= 16; ++step) {
    made.gradient = at::ones({size}, at::kFloat);
    ops::AdamWRates one;
    one.learning_rate = 1e-4;  // 2^-9 is half of what bf16 tells from 1
    one.num_steps = step;
    ops::adamw({made}, one);
  }
  EXPECT_NEAR(made.value.to(at::kDouble).mean().item<double>(), 1 - 16e-4, 2e-5);
}
