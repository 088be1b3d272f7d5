// Log-probabilities of tokens: results and gradients against double, bits that do not depend on the batch.
#include "ops/head/token_logprob.h"

#include <ATen/ops/equal.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/tanh.h>

#include <utility>

#include "against_double.h"
#include "check.h"

using namespace seekrl;
using at::Tensor;
using test::check_against_double;
using test::Op;
using test::random;
using test::Tensors;

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
