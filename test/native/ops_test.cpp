// Ops: the kernels' results and gradients against ATen's autograd over the same op composed in double.
#include <ATen/Context.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/tanh.h>
#include <ATen/ops/tensor.h>
#include <torch/csrc/autograd/autograd.h>

#include <functional>
#include <vector>

#include "base/error.h"
#include "check.h"
#include "ops/attention/span_attention.h"
#include "ops/elementwise/gate_mul.h"
#include "ops/products/bf16_matmul.h"
#include "ops/products/linear.h"
#include "ops/products/low_rank.h"
#include "ops/rms_norm.h"
#include "ops/rope.h"
#include "ops/token_logprob.h"

using namespace seekrl;
using at::Tensor;

namespace {

using Tensors = std::vector<Tensor>;
using Op = std::function<Tensor(const Tensors&)>;

Tensor random(at::IntArrayRef shape) { return at::randn(shape, at::kFloat); }

// Results and gradients of sum(out * weights), weights fixed and of both signs.
Tensors run(const Op& op, const Tensors& inputs, at::ScalarType dtype) {
  Tensors leaves;
  for (const Tensor& input : inputs) leaves.push_back(input.to(dtype).detach().clone().requires_grad_());
  const Tensor out = op(leaves);
  const Tensor weights = at::arange(out.numel(), at::kDouble).cos().to(dtype).view(out.sizes());
  Tensors results = torch::autograd::grad({(out * weights).sum()}, leaves);
  results.push_back(out.detach());
  return results;
}

// The tolerance is relative to each tensor's largest element, or to one where all are small: a few roundings of sums of
// at most some hundred terms.
void check_against_double(const Op& op, const Tensors& inputs, double tolerance = 1e-5) {
  at::manual_seed(5);
  const Tensors got = run(op, inputs, at::kFloat), expected = run(op, inputs, at::kDouble);
  for (size_t i = 0; i < got.size(); ++i) {
    const double largest = std::max(1.0, expected[i].abs().max().item<double>());
    const double gap = (got[i].to(at::kDouble) - expected[i]).abs().max().item<double>();
    EXPECT_NEAR(gap / largest, 0.0, tolerance);
  }
}

}  // namespace

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
  for (const auto& [m, n, k] :
       {std::array<int64_t, 3>{1, 3, 6}, {70, 130, 66}, {129, 64, 40}, {20, 70, 1100}, {70, 30, 1100}}) {
    const Tensor x = random({m, k}), weight = random({n, k}).to(at::kBFloat16), bias = random({n});
    const Tensor rounded = ops::rounded_rows(x);
    const Tensor by_rows = at::empty({m, n}), by_panels = at::empty({m, n}), alone = at::empty({1, n});
    const auto multiply = [&, n = n, k = k](const auto& product, const Tensor& y, int64_t row, int64_t count) {
      ops::Bf16Rows rows = ops::rows_of(rounded.narrow(0, row, count), k);
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

TEST("span attention and its gradients match ATen in double, spans not seeing one another") {
  at::manual_seed(3);
  for (const std::vector<int64_t>& starts : {std::vector<int64_t>{0, 1}, {0, 5, 6, 90}, {0, 130, 333}}) {
    const int64_t t = starts.back();
    for (const ops::ScoreRule& rule : {ops::ScoreRule{0.25f}, {0.3f, 2.0f}, {0.25f, 0.0f, 3}, {0.3f, 1.5f, 70}}) {
      check_against_double(
          [&](const Tensors& x) { return ops::span_attention(x[0], x[1], x[2], {starts, {}}, rule, at::kFloat); },
          {random({t, 6, 16}), random({t, 2, 16}), random({t, 2, 16})}, 2e-5);
    }
  }
}

TEST("span attention of a bf16 model and its gradients match double over the rounded values") {
  at::manual_seed(4);
  const ops::Spans spans = {{0, 70, 75, 76, 130}, {-1, 0, 0, -1}};
  for (const ops::ScoreRule& rule : {ops::ScoreRule{0.25f}, {0.3f, 1.5f, 20}}) {
    const Tensors inputs = {random({130, 6, 16}), random({130, 2, 16}), random({130, 2, 16})};
    Tensors rounded;
    for (const Tensor& input : inputs) rounded.push_back(input.to(at::kBFloat16).to(at::kFloat));
    const auto attend_in = [&](at::ScalarType dtype) {
      return [&, dtype](const Tensors& x) { return ops::span_attention(x[0], x[1], x[2], spans, rule, dtype); };
    };
    const Tensors got = run(attend_in(at::kBFloat16), inputs, at::kFloat);
    const Tensors expected = run(attend_in(at::kFloat), rounded, at::kDouble);
    for (size_t i = 0; i < got.size(); ++i) {
      const Tensor gap = (got[i].to(at::kDouble) - expected[i]).abs().max() / expected[i].abs().max();
      // The weights have eight bits in the forward; gradients see it through the output's share in them.
      EXPECT_NEAR(gap.item<double>(), 0.0, 4e-3);
    }
  }
}

// A prompt with two answers, one of which was sampled on three times, and a text of its own.
const ops::Spans kTree = {{0, 70, 75, 76, 200, 230, 290, 300}, {-1, 0, 0, 2, 2, 2, -1}};

// Each path from the first token to the end of a span, alone.
struct Unpacked {
  std::vector<int64_t> starts = {0};
  std::vector<int64_t> tokens;  // of the tree
  std::vector<int64_t> own;     // places of the span's own tokens, so that each token of the tree is named once
};

Unpacked unpack(const ops::Spans& tree) {
  Unpacked unpacked;
  for (int64_t span = 0; span < tree.count(); ++span) {
    for (const ops::Run& run : ops::path(tree, span)) {
      for (int64_t i = 0; i < run.length; ++i) {
        if (run.start == tree.starts[span]) unpacked.own.push_back(static_cast<int64_t>(unpacked.tokens.size()));
        unpacked.tokens.push_back(run.start + i);
      }
    }
    unpacked.starts.push_back(static_cast<int64_t>(unpacked.tokens.size()));
  }
  return unpacked;
}

TEST("texts that share their beginning have the bits of each alone, and the sums of their gradients") {
  at::manual_seed(8);
  const int64_t t = kTree.num_tokens();
  const Unpacked unpacked = unpack(kTree);
  const Tensor tokens = at::tensor(unpacked.tokens), own = at::tensor(unpacked.own);
  for (const ops::ScoreRule& rule : {ops::ScoreRule{0.25f}, {0.3f, 1.5f, 70}}) {
    const Op packed = [&](const Tensors& x) { return ops::span_attention(x[0], x[1], x[2], kTree, rule, at::kFloat); };
    const Op alone = [&](const Tensors& x) {
      const auto all = [&](int i) { return x[i].index_select(0, tokens); };
      return ops::span_attention(all(0), all(1), all(2), {unpacked.starts, {}}, rule, at::kFloat).index_select(0, own);
    };
    const Tensors inputs = {random({t, 6, 16}), random({t, 2, 16}), random({t, 2, 16})};
    check_against_double(packed, inputs, 2e-5);
    const Tensors got = run(packed, inputs, at::kFloat), expected = run(alone, inputs, at::kFloat);
    EXPECT(at::equal(got.back(), expected.back()));
    for (size_t i = 0; i < 3; ++i) {
      EXPECT_NEAR((got[i] - expected[i]).abs().max().item<double>() / expected[i].abs().max().item<double>(), 0.0,
                  1e-5);
    }
  }
}

TEST("many short texts behind a long beginning are attended in rounds, with the same bits") {
  at::manual_seed(9);
  ops::Spans tree = {{0, 90}, {-1}};
  for (int64_t i = 0; i < 40; ++i) {
    tree.starts.push_back(tree.starts.back() + 1 + i % 3);
    tree.parents.push_back(0);
  }
  const int64_t t = tree.num_tokens();
  const Tensors x = {random({t, 2, 8}), random({t, 1, 8}), random({t, 1, 8})};
  const ops::ScoreRule rule = {0.35f};
  const Tensor together = ops::span_attention(x[0], x[1], x[2], tree, rule, at::kFloat);
  for (int64_t span = 1; span <= 40; ++span) {
    const int64_t start = tree.starts[span], length = tree.length(span);
    const auto one = [&](int i) { return at::cat({x[i].narrow(0, 0, 90), x[i].narrow(0, start, length)}); };
    const Tensor alone = ops::span_attention(one(0), one(1), one(2), {{0, 90 + length}, {}}, rule, at::kFloat);
    EXPECT(at::equal(together.narrow(0, start, length), alone.narrow(0, 90, length)));
  }
  check_against_double([&](const Tensors& y) { return ops::span_attention(y[0], y[1], y[2], tree, rule, at::kFloat); },
                       x, 2e-5);
}

TEST("token_logprob and its gradients match log_softmax in double") {
  at::manual_seed(4);
  for (const int64_t rows : {1, 7, 1100}) {
    const Tensor ids = at::randint(0, 301, {rows}, at::kLong);
    for (const auto& [is_entropy, softcap] : {std::pair{false, 0.0}, {true, 0.0}, {false, 2.0}, {true, 3.0}}) {
      const Op ours = [&, softcap = softcap, is_entropy = is_entropy](const Tensors& x) {
        const ops::TokenLogprob result = ops::token_logprob(x[0], x[1], ids, 0.7, softcap);
        return is_entropy ? result.entropy_R : result.logprob_R;
      };
      const Op exact = [&, softcap = softcap, is_entropy = is_entropy](const Tensors& x) {
        const Tensor logits = at::linear(x[0], x[1]);
        const Tensor capped = softcap > 0 ? at::tanh(logits / softcap) * softcap : logits;
        const Tensor all = at::log_softmax(capped / 0.7, 1);
        return is_entropy ? -(all.exp() * all).sum(1) : all.gather(1, ids.unsqueeze(1)).squeeze(1);
      };
      check_against_double([&](const Tensors& x) { return x[0].scalar_type() == at::kFloat ? ours(x) : exact(x); },
                           {random({rows, 20}), random({301, 20})});
    }
  }
}

TEST("the gradients of a wide bf16 head, taken some outputs at a time, match double over the rounded values") {
  at::manual_seed(9);
  constexpr int64_t kRows = 5, kOutputs = 40001, kWidth = 8;
  const Tensor ids = at::randint(0, kOutputs, {kRows}, at::kLong);
  const Tensor hidden = random({kRows, kWidth}).to(at::kBFloat16).to(at::kFloat).requires_grad_();
  const Tensor weight = (4 * random({kOutputs, kWidth})).to(at::kBFloat16).requires_grad_();
  const Tensor wide_hidden = hidden.detach().to(at::kDouble).requires_grad_();
  const Tensor wide_weight = weight.detach().to(at::kDouble).requires_grad_();
  const auto grads = [](const Tensor& loss, const Tensor& x, const Tensor& head) {
    return torch::autograd::grad({loss.sum()}, {x, head});
  };
  const Tensors ours = grads(ops::token_logprob(hidden, weight, ids, 1.0).logprob_R, hidden, weight);
  const Tensor all = at::log_softmax(at::linear(wide_hidden, wide_weight), 1);
  const Tensors exact = grads(all.gather(1, ids.unsqueeze(1)), wide_hidden, wide_weight);
  for (size_t i = 0; i < 2; ++i) {
    // The gradient of the logits is rounded to bf16.
    const Tensor gap = (ours[i].to(at::kDouble) - exact[i]).abs().max() / exact[i].abs().max();
    EXPECT_NEAR(gap.item<double>(), 0.0, 8e-3);
  }
}

TEST("the composition of token_logprob for other dtypes has the kernels' results and gradients") {
  at::manual_seed(6);
  const Tensor ids = at::randint(0, 90000, {70}, at::kLong);
  const Tensors inputs = {random({70, 4}), random({90000, 4})};
  const Op op = [&](const Tensors& x) {
    const ops::TokenLogprob result = ops::token_logprob(x[0], x[1], ids, 1.5);
    return result.logprob_R + result.entropy_R;
  };
  check_against_double(op, inputs, 1e-4);
}

TEST("a row's log-probability has the same bits alone and in a batch") {
  at::manual_seed(7);
  const Tensor hidden = random({150, 64}), weight = random({1500, 64}), ids = at::randint(0, 1500, {150}, at::kLong);
  const Tensor together = ops::token_logprob(hidden, weight, ids, 1.0).logprob_R;
  for (int64_t row = 0; row < 150; row += 13) {
    const Tensor alone = ops::token_logprob(hidden.narrow(0, row, 1), weight, ids.narrow(0, row, 1), 1.0).logprob_R;
    EXPECT(at::equal(alone, together.narrow(0, row, 1)));
  }
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
