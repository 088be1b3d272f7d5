// One projection of a block of experts: who goes where, the products, and the sum of what comes back.
#include <algorithm>

#include "model.h"

namespace seekrl::bench {

using cuda::Dtype;

namespace {

struct ExpertShape {
  int64_t tokens, experts, chosen, n, k;
};

Prepared prepare_experts(Memory& memory, const ExpertShape& shape) {
  const auto& [tokens, experts, chosen, n, k] = shape;
  const int64_t calls = tokens * chosen;
  float* const weights = memory.floats(calls);
  auto *const chosen_R = memory.empty<int32_t>(calls), *const start = memory.empty<int32_t>(experts + 1);
  auto *const order = memory.empty<int32_t>(calls), *const places = memory.empty<int32_t>(calls);
  void *const rows = memory.poisoned(Dtype::kBf16, calls * k), *const products =
                                                                   memory.poisoned(Dtype::kBf16, calls * n);
  void* const out = memory.poisoned(Dtype::kBf16, tokens * n);
  const void *const logits = memory.halves(tokens * experts), *const x = memory.halves(tokens * k);
  std::vector<const void*> each;
  for (int64_t e = 0; e < experts; ++e) each.push_back(weight_of(memory, n, k));
  const void* const* const weights_E = memory.copy_of(each);
  const cuda::ExpertChoice choice = {weights, chosen_R, logits, tokens, experts, chosen, true, Dtype::kBf16};
  const cuda::ExpertCalls sorted = {start, order, places, chosen_R, calls, experts};
  const cuda::ExpertRows gathered = {rows, x, order, calls, chosen, k};
  const cuda::ExpertProduct product = {products, rows, weights_E, start, calls, n, k, experts, Dtype::kBf16};
  const cuda::ExpertSum sum = {out, products, weights, places, tokens, chosen, n, Dtype::kBf16};
  Calls run;
  SEEKRL_ADD(run, choose_experts, choice);
  SEEKRL_ADD(run, sort_calls, sorted);
  SEEKRL_ADD(run, gather_calls, gathered);
  SEEKRL_ADD(run, expert_product, product);
  SEEKRL_ADD(run, add_experts, sum);
  return {run, {{"chosen", chosen_R, calls, Kind::kInt, 0}, {"out", out, tokens * n, Kind::kBf16, 1e-2}}};
}

}  // namespace

// As wide as Qwen3-30B-A3B's: 128 experts of which a token takes 8.
void add_expert_cases(Cases& cases, bool is_tiny) {
  for (const int64_t tokens : is_tiny ? std::vector<int64_t>{21} : std::vector<int64_t>{16, 256, 8192}) {
    const ExpertShape shape = is_tiny ? ExpertShape{tokens, 5, 2, 40, 72} : ExpertShape{tokens, 128, 8, 768, 2048};
    const auto calls = static_cast<double>(tokens * shape.chosen), size = static_cast<double>(shape.n * shape.k);
    const double reached = std::min(calls, static_cast<double>(shape.experts));
    const double bytes = 2 * (reached * size + calls * static_cast<double>(shape.n + 2 * shape.k));
    cases.push_back(
        {"a product of " + std::to_string(shape.experts) + " experts, " + std::to_string(tokens) + " tokens", "",
         static_cast<double>(tokens), "token", bytes, 2 * calls * size,
         2 * static_cast<double>(shape.experts) * size + 1e9, false,
         [shape](Memory& memory) { return prepare_experts(memory, shape); }});
  }
}

}  // namespace seekrl::bench
