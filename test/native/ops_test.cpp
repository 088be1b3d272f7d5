// Ops: the kernels' results and gradients against ATen's autograd over the same op composed in double.
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/rand.h>

#include <array>

#include "against_double.h"
#include "base/error.h"
#include "check.h"
#include "ops/elementwise/gate_mul.h"
#include "ops/products/bf16_matmul.h"
#include "ops/products/linear.h"
#include "ops/products/low_rank.h"
#include "ops/rms_norm.h"
#include "ops/rope.h"

using namespace seekrl;
using at::Tensor;
using test::check_against_double;
using test::random;
using test::Tensors;

TEST("linear and its gradients match ATen in double") {
  at::manual_seed(1);
  for (const auto& [m, n, k] : {std::array<int64_t, 3>{1, 3, 5}, {100, 70, 33}, {700, 130, 65}}) {
    check_against_double([](const Tensors& x) { return ops::linear(x[0], x[1], x[2]); },
                         {random({m, k}), random({n, k}), random({n})});
    check_against_double([](const Tensors& x) { return ops::linear(x[0], x[1], {}); },
                         {random({m, k}), random({n, k})});
  }
}

TEST("a bf16 linear and its gradients match double over the rounded values") {
  at::manual_seed(6);
  const auto rounded = [](at::IntArrayRef shape) { return random(shape).to(at::kBFloat16); };
  for (const auto& [m, n, k] : {std::array<int64_t, 3>{1, 3, 5}, {100, 70, 34}, {65, 130, 66}}) {
    const Tensor x = rounded({m, k}).to(at::kFloat).requires_grad_(), y_grad = rounded({m, n}).to(at::kFloat);
    const Tensor weight = rounded({n, k}).requires_grad_();
    const Tensor y = ops::linear(x, weight, {});
    const Tensors grads = torch::autograd::grad({y}, {x, weight}, {y_grad});
    const Tensor wide_x = x.detach().to(at::kDouble), wide_weight = weight.detach().to(at::kDouble),
                 wide_grad = y_grad.to(at::kDouble);
    const auto gap = [](const Tensor& got, const Tensor& expected) {
      return ((got.detach().to(at::kDouble) - expected).abs().max() / expected.abs().max()).item<double>();
    };
    EXPECT_NEAR(gap(y, wide_x.mm(wide_weight.t())), 0.0, 1e-5);
    EXPECT_NEAR(gap(grads[0], wide_grad.mm(wide_weight)), 0.0, 1e-5);
    // Rounded to bf16 on the way out, where no trainer has attached an f32 sum.
    EXPECT_NEAR(gap(grads[1], wide_grad.t().mm(wide_x)), 0.0, 4e-3);
  }
}

TEST("a product by panels of x has the bits of every other way, and a row's bits are its own") {
  at::manual_seed(7);
  for (const auto& [m, n, k] : {std::array<int64_t, 3>{1, 3, 6},
                                {70, 130, 66},
                                {129, 64, 40},
                                {20, 70, 1100},
                                {70, 30, 1100},
                                {130, 1100, 34}}) {
    const Tensor x = random({m, k}), weight = random({n, k}).to(at::kBFloat16), bias = random({n});
    const Tensor rounded = ops::rounded_rows(x);
    const Tensor by_rows = at::empty({m, n}), by_panels = at::empty({m, n}), alone = at::empty({1, n});
    const auto multiply = [&, n = n, k = k](const auto& product, const Tensor& y, int64_t row, int64_t count) {
      ops::Bf16Rows rows = ops::bf16_rows(rounded.narrow(0, row, count), k);
      product(y.mutable_data_ptr<float>(), n, rows, ops::bits_of(weight), n, bias.const_data_ptr<float>(),
              ops::Activation::kGelu, 1);
    };
    multiply(ops::bf16_linear, by_rows, 0, m);
    multiply(ops::bf16_linear_by_panels, by_panels, 0, m);
    EXPECT(at::equal(by_rows, by_panels));
    for (const int64_t row : {int64_t{0}, m - 1}) {
      multiply(ops::bf16_linear_by_panels, alone, row, 1);
      EXPECT(at::equal(alone[0], by_panels[row]));
      multiply(ops::bf16_linear, alone, row, 1);
      EXPECT(at::equal(alone[0], by_panels[row]));
    }
  }
}

TEST("what an adapter adds and its gradients match ATen in double; a row's bits are those it has alone") {
  at::manual_seed(6);
  const auto added = [](const Tensors& x) {
    if (x[0].scalar_type() == at::kFloat) return ops::add_low_rank(x[0].clone(), x[1], x[2], x[3], 0.7);
    return x[0] + 0.7 * at::linear(at::linear(x[1], x[2]), x[3]);
  };
  for (const auto& [m, n, k, r] : {std::array<int64_t, 4>{1, 3, 5, 1}, {100, 70, 33, 4}, {700, 130, 65, 16}}) {
    const Tensors inputs = {random({m, n}), random({m, k}), random({r, k}), random({n, r})};
    check_against_double(added, inputs);
    const at::NoGradGuard no_grad;
    const Tensor all = added(inputs);
    for (const int64_t row : {int64_t{0}, m / 2, m - 1}) {
      const Tensor alone = added({inputs[0].narrow(0, row, 1), inputs[1].narrow(0, row, 1), inputs[2], inputs[3]});
      EXPECT(alone.equal(all.narrow(0, row, 1)));
    }
  }
}

TEST("rms_norm, rope and the gates and their gradients match ATen in double") {
  at::manual_seed(2);
  const Tensor angles = at::rand({300, 8}) * 6;
  check_against_double([](const Tensors& x) { return ops::rms_norm(x[0], x[1], 1e-6); },
                       {random({300, 50}), random({50})});
  check_against_double([](const Tensors& x) { return ops::rms_norm(x[0], x[1], 1e-6); },
                       {random({30, 3, 8}), random({8})});
  check_against_double([](const Tensors& x) { return ops::rms_norm(x[0], x[1], 1e-6, 1.0); },
                       {random({30, 3, 8}), random({8})});
  check_against_double([&](const Tensors& x) { return ops::rope(x[0], angles.cos(), angles.sin()); },
                       {random({300, 3, 16})});
  check_against_double([&](const Tensors& x) { return ops::rope(x[0], angles.cos(), angles.sin()); },
                       {random({300, 3, 22})});
  check_against_double([](const Tensors& x) { return ops::silu_mul(x[0], x[1]); },
                       {random({90, 70}), random({90, 70})});
  check_against_double([](const Tensors& x) { return ops::gelu_mul(x[0], x[1]); },
                       {random({90, 70}), random({90, 70})});
}

TEST("ops name a shape that does not fit") {
  bool is_thrown = false;
  try {
    ops::linear(random({2, 3}), random({4, 5}), {});
  } catch (const Error& error) {
    is_thrown = error.code() == ErrorCode::kShape;
  }
  EXPECT(is_thrown);
}
