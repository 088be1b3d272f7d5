// Tokens are put in the order of their experts, each expert sees its own together, and the results go back in order.
#include "model/experts.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/argsort.h>
#include <ATen/ops/bincount.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/floor_divide.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/topk.h>

#include "ops/elementwise/add.h"
#include "ops/elementwise/gate_mul.h"

namespace seekrl::model {

namespace {

// In their order, whatever the number of rows. [T, A] -> [T, 1]
at::Tensor sum_of_columns(const at::Tensor& x_TA) {
  at::Tensor sum_T1 = x_TA.narrow(1, 0, 1);
  for (int64_t a = 1; a < x_TA.size(1); ++a) sum_T1 = sum_T1 + x_TA.narrow(1, a, 1);
  return sum_T1;
}

}  // namespace

at::Tensor FeedForward::apply(const at::Tensor& x_TD, Gate function, const AdapterRows& adapters) const {
  const at::Tensor opened = gate.apply(x_TD, adapters), raised = up.apply(x_TD, adapters);
  const at::Tensor gated = function == Gate::kGelu ? ops::gelu_mul(opened, raised) : ops::silu_mul(opened, raised);
  return down.apply(gated, adapters);
}

at::Tensor Experts::apply(const at::Tensor& x_TD, Gate function, const AdapterRows& adapters) const {
  const int64_t num_tokens = x_TD.size(0), num_experts = static_cast<int64_t>(all.size());
  const at::Tensor odds_TE = at::softmax(router.apply(x_TD, {}).to(at::kFloat), 1);
  auto [weights_TA, chosen_TA] = at::topk(odds_TE, num_chosen, 1);
  if (is_normalised) weights_TA = weights_TA / sum_of_columns(weights_TA);
  // Calls (token, place among its A), those of the first expert first.
  const at::Tensor flat = chosen_TA.reshape({-1});
  const at::Tensor order = at::argsort(flat, /*stable=*/true, 0);
  const at::Tensor counts = at::bincount(flat, {}, num_experts).to(at::kCPU);
  const at::Tensor tokens = at::floor_divide(order, num_chosen), inputs = x_TD.index_select(0, tokens);
  std::vector<at::Tensor> results;
  int64_t start = 0;
  for (int64_t e = 0; e < num_experts; ++e) {
    const int64_t count = counts.const_data_ptr<int64_t>()[e];
    if (count > 0) {
      const AdapterRows selected = adapters.select(tokens.narrow(0, start, count));
      results.push_back(all[e].apply(inputs.narrow(0, start, count), function, selected));
    }
    start += count;
  }
  const at::Tensor result_TAD =
      at::cat(results, 0).index_select(0, at::argsort(order)).view({num_tokens, num_chosen, x_TD.size(1)});
  at::Tensor sum_TD;
  for (int64_t a = 0; a < num_chosen; ++a) {
    const at::Tensor part = (result_TAD.select(1, a) * weights_TA.select(1, a).unsqueeze(1)).to(x_TD.scalar_type());
    sum_TD = a == 0 ? part : ops::add(sum_TD, part);
  }
  return sum_TD;
}

}  // namespace seekrl::model
