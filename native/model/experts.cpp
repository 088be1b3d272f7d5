// Tokens are put in the order of their experts, each expert sees its own together, and the results go back in order: on
// a GPU by a few launches for all, with the bits of one expert after another, where nothing is to be differentiated.
#include "model/experts.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/argsort.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/floor_divide.h>
#include <ATen/ops/searchsorted.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/sort.h>
#include <ATen/ops/topk.h>

#include <optional>
#include <utility>

#include "ops/elementwise/add.h"
#include "ops/elementwise/gate_mul.h"
#include "ops/gpu/transfer.h"
#include "ops/kernel_path.h"
#include "ops/select_rows.h"

namespace seekrl::model {

namespace {

// In their order, whatever the number of rows. [T, A] -> [T, 1]
at::Tensor sum_of_columns(const at::Tensor& x_TA) {
  at::Tensor sum_T1 = x_TA.narrow(1, 0, 1);
  for (int64_t a = 1; a < x_TA.size(1); ++a) sum_T1 = sum_T1 + x_TA.narrow(1, a, 1);
  return sum_T1;
}

}  // namespace

at::Tensor FeedForward::gated(const at::Tensor& x_TD, Gate function, const AdapterRows& adapters) const {
  const at::Tensor opened = gate.apply(x_TD, adapters), raised = up.apply(x_TD, adapters);
  return function == Gate::kGelu ? ops::gelu_mul(opened, raised) : ops::silu_mul(opened, raised);
}

at::Tensor FeedForward::apply(const at::Tensor& x_TD, Gate function, const AdapterRows& adapters,
                              const TensorParallel& parallel) const {
  return down.apply_summed(gated(parallel.shared(x_TD), function, adapters), adapters, parallel);
}

// A table on the GPU, written anew where one of them has other memory than the last time: ranks that share out weights
// give parameters new memory with each pass (train/zero/weights.h).
const ops::GpuExperts& Experts::gpu_weights() const {
  constexpr Projection FeedForward::* kParts[] = {&FeedForward::gate, &FeedForward::up, &FeedForward::down};
  std::vector<int64_t> addresses;
  for (const auto part : kParts) {
    for (const FeedForward& expert : all) {
      addresses.push_back(reinterpret_cast<int64_t>((expert.*part).weight_NK.plain_NK.const_data_ptr()));
    }
  }
  if (addresses == gpu_addresses_) return gpu_weights_;
  const int64_t num_experts = std::ssize(all);
  if (gpu_addresses_.empty()) {
    const at::Tensor table =
        ops::empty_list(std::ssize(addresses), at::kLong, router.weight_NK.plain_NK.device()).view({3, num_experts});
    gpu_weights_ = {table, all.front().gate.weight_NK.n()};
  }
  ops::send(gpu_weights_.addresses_3E, addresses.data());
  gpu_addresses_ = std::move(addresses);
  return gpu_weights_;
}

Experts::Choice Experts::choose(const at::Tensor& odds_TE) const {
  auto [weights_TA, chosen_TA] = at::topk(odds_TE, num_chosen, 1);
  if (is_normalised) weights_TA = weights_TA / sum_of_columns(weights_TA);
  return {weights_TA, chosen_TA};
}

at::Tensor Experts::apply(const at::Tensor& x_TD, Gate function, const AdapterRows& adapters,
                          const TensorParallel& parallel) const {
  const at::Tensor logits_TE = router.apply(x_TD, {});
  if (x_TD.is_cpu()) {
    const auto [weights_TA, chosen_TA] = choose(at::softmax(logits_TE.to(at::kFloat), 1));
    const Choice choice = {parallel.shared(weights_TA), chosen_TA};
    return parallel.summed(apply_each(parallel.shared(x_TD), choice, function, adapters));
  }
  const ops::GpuChoice choice = ops::gpu_choose_experts(logits_TE, num_chosen, is_normalised);
  const FeedForward& first = all.front();
  if (are_together(adapters) && !ops::needs_grad(x_TD, choice.weights_TA, first.gate.weight_NK.plain_NK)) {
    const auto gate = function == Gate::kGelu ? cuda::Gate::kGeluTanh : cuda::Gate::kSilu;
    return parallel.summed(ops::gpu_experts(x_TD, choice, gpu_weights(), gate));
  }
  const Choice chosen = {parallel.shared(choice.weights_TA), choice.chosen_TA.to(at::kLong)};
  return parallel.summed(apply_each(parallel.shared(x_TD), chosen, function, adapters));
}

at::Tensor Experts::apply_each(const at::Tensor& x_TD, const Choice& choice, Gate function,
                               const AdapterRows& adapters) const {
  const int64_t num_tokens = x_TD.size(0), num_experts = static_cast<int64_t>(all.size());
  const auto& [weights_TA, chosen_TA] = choice;
  // Calls (token, place among its A), those of the first expert first.
  const at::Tensor flat = chosen_TA.reshape({-1});
  const auto [ordered, order] = at::sort(flat, /*stable=*/std::optional(true), 0);
  // Where each expert's begin: all that the host waits for of a GPU.
  const at::Tensor starts = at::searchsorted(ordered, at::arange(num_experts + 1, flat.options())).to(at::kCPU);
  const int64_t* const start_E = starts.const_data_ptr<int64_t>();
  const at::Tensor tokens = at::floor_divide(order, num_chosen);
  const at::Tensor calls = x_TD.unsqueeze(1).expand({-1, num_chosen, -1}).reshape({-1, x_TD.size(1)});
  const at::Tensor inputs = ops::permute_rows(calls, order);
  std::vector<at::Tensor> results;
  for (int64_t e = 0; e < num_experts; ++e) {
    const int64_t start = start_E[e], count = start_E[e + 1] - start;
    if (count == 0) continue;
    const AdapterRows selected = adapters.select(tokens.narrow(0, start, count));
    results.push_back(all[e].apply_own(inputs.narrow(0, start, count), function, selected));
  }
  const at::Tensor result_TAD =
      ops::permute_rows(at::cat(results, 0), at::argsort(order)).view({num_tokens, num_chosen, x_TD.size(1)});
  at::Tensor sum_TD;
  for (int64_t a = 0; a < num_chosen; ++a) {
    const at::Tensor part = (result_TAD.select(1, a) * weights_TA.select(1, a).unsqueeze(1)).to(x_TD.scalar_type());
    sum_TD = a == 0 ? part : ops::add(sum_TD, part);
  }
  return sum_TD;
}

}  // namespace seekrl::model
