// Attention over spans and their tree as an op: results and gradients against double, bits of each text alone.
#include "ops/attention/span_attention.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/tensor.h>

#include <vector>

#include "against_double.h"
#include "check.h"

using namespace seekrl;
using at::Tensor;
using test::check_against_double;
using test::Op;
using test::random;
using test::run;
using test::Tensors;

namespace {

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

}  // namespace

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
