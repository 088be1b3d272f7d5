// The experts of a block: choices against f64, calls in order, products with the bits of each expert's own.
#include "kernels/cuda/experts/experts.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

#include "gpu.h"
#include "kernels/cuda/product/product.h"

using namespace seekrl;
using namespace seekrl::cuda;
using namespace seekrl::test;

namespace {

template <class Number>
void check_choice(int64_t num_tokens, int64_t num_experts, int64_t num_chosen, bool is_normalised) {
  auto logits = normals<Number>(num_tokens * num_experts, 3);
  for (int64_t e = 1; e < num_experts; e += 2) logits[e] = logits[0];  // ties
  std::vector<float> weights = poison<float>(num_tokens * num_chosen);
  std::vector<int32_t> chosen(num_tokens * num_chosen, -7);
  constexpr Dtype dtype = std::is_same_v<Number, float> ? Dtype::kFloat : kDtype<Number>;
  with_each_order([&] {
    EXPECT(choose_experts({weights.data(), chosen.data(), logits.data(), num_tokens, num_experts, num_chosen,
                           is_normalised, dtype},
                          nullptr) == nullptr);
    for (int64_t t = 0; t < num_tokens; ++t) {
      const Number* const row = logits.data() + t * num_experts;
      std::vector<int32_t> order(num_experts);
      std::iota(order.begin(), order.end(), 0);
      std::stable_sort(order.begin(), order.end(),
                       [&](int32_t a, int32_t b) { return to_float(row[a]) > to_float(row[b]); });
      double all = 0, of_chosen = 0;
      for (int64_t e = 0; e < num_experts; ++e) all += std::exp(double{to_float(row[e])});
      for (int64_t a = 0; a < num_chosen; ++a) of_chosen += std::exp(double{to_float(row[order[a]])});
      for (int64_t a = 0; a < num_chosen; ++a) {
        EXPECT(chosen[t * num_chosen + a] == order[a]);
        const double truth = std::exp(double{to_float(row[order[a]])}) / (is_normalised ? of_chosen : all);
        EXPECT(std::fabs(weights[t * num_chosen + a] / truth - 1) < 1e-5);
      }
    }
  });
}

// Calls of `num_tokens` that choose 3 of 7 experts; nobody chooses expert 5.
struct Sorted {
  explicit Sorted(int64_t num_tokens) : num_calls(num_tokens * kChosen) {
    for (int64_t i = 0; i < num_calls; ++i) {
      const int32_t all[] = {0, 1, 2, 3, 4, 6};
      chosen.push_back(all[(i / kChosen * 5 + i % kChosen * 2) % 6]);
    }
    start.assign(kExperts + 1, -1);
    order.assign(num_calls, -1);
    places.assign(num_calls, -1);
    EXPECT(sort_calls({start.data(), order.data(), places.data(), chosen.data(), num_calls, kExperts}, nullptr) ==
           nullptr);
  }
  static constexpr int64_t kExperts = 7, kChosen = 3;
  int64_t num_calls;
  std::vector<int32_t> chosen, start, order, places;
};

template <class Number>
void check_sum() {
  constexpr int64_t kTokens = 11, kWidth = 24;
  const Sorted sorted(kTokens);
  const auto x = normals<Number>(kTokens * kWidth, 1);
  const auto weights = normals<float>(sorted.num_calls, 2);
  with_each_order([&] {
    std::vector<Number> rows = poison<Number>(sorted.num_calls * kWidth), out = poison<Number>(kTokens * kWidth);
    EXPECT(gather_calls({rows.data(), x.data(), sorted.order.data(), sorted.num_calls, 3, kWidth}, nullptr) == nullptr);
    EXPECT(
        add_experts({out.data(), rows.data(), weights.data(), sorted.places.data(), kTokens, 3, kWidth, kDtype<Number>},
                    nullptr) == nullptr);
    for (int64_t i = 0; i < kTokens * kWidth; ++i) {
      float sum = 0;
      for (int64_t a = 0; a < 3; ++a) {
        const float term = to_float(from_float<Number>(to_float(x[i]) * weights[i / kWidth * 3 + a]));
        sum = a == 0 ? term : to_float(from_float<Number>(sum + term));
      }
      EXPECT(to_float(out[i]) == sum);
    }
  });
}

template <class Number>
void check_products(int64_t num_tokens) {
  constexpr int64_t kN = 70, kK = 136;
  const Sorted sorted(num_tokens);
  const auto x = normals<Number>(sorted.num_calls * kK, 1);
  std::vector<std::vector<Number>> weights;
  std::vector<const void*> pointers;
  for (int64_t e = 0; e < Sorted::kExperts; ++e) weights.push_back(normals<Number>(kN * kK, 10 + e));
  for (const auto& each : weights) pointers.push_back(each.data());
  std::vector<Number> expected(sorted.num_calls * kN);
  for (int64_t e = 0; e < Sorted::kExperts; ++e) {
    const int64_t first = sorted.start[e];
    EXPECT(product({expected.data() + first * kN, x.data() + first * kK, weights[e].data(), nullptr, kN, kK, kK,
                    sorted.start[e + 1] - first, kN, kK, ProductForm::kForward, kDtype<Number>, kDtype<Number>, false},
                   nullptr) == nullptr);
  }
  with_each_order([&] {
    std::vector<Number> out = poison<Number>(sorted.num_calls * kN);
    EXPECT(expert_product({out.data(), x.data(), pointers.data(), sorted.start.data(), sorted.num_calls, kN, kK,
                           Sorted::kExperts, kDtype<Number>},
                          nullptr) == nullptr);
    EXPECT(std::equal(out.begin(), out.end(), expected.begin(), [](Number a, Number b) { return a.bits == b.bits; }));
  });
}

}  // namespace

TEST("a token chooses the experts of the largest odds, the first of equal ones") {
  check_choice<Bf16>(9, 8, 2, true);
  check_choice<float>(3, 500, 10, false);
  check_choice<F16>(5, 3, 3, true);
}

TEST("a token whose odds are not numbers chooses experts that there are, and says so in their weights") {
  std::vector<float> logits(40, 0.0f), weights = poison<float>(4);
  logits[7] = NAN;
  std::vector<int32_t> chosen(4, -7);
  EXPECT(choose_experts({weights.data(), chosen.data(), logits.data(), 1, 40, 4, true, Dtype::kFloat}, nullptr) ==
         nullptr);
  EXPECT(chosen == (std::vector<int32_t>{7, 0, 1, 2}));
  for (const float each : weights) EXPECT(std::isnan(each));
}

TEST("calls stand in the order of their experts, of one expert in that of their tokens") {
  for (const int64_t num_tokens : {1, 90, 300}) {
    with_each_order([&] {
      const Sorted sorted(num_tokens);
      std::vector<int32_t> expected(sorted.num_calls);
      std::iota(expected.begin(), expected.end(), 0);
      std::stable_sort(expected.begin(), expected.end(),
                       [&](int32_t a, int32_t b) { return sorted.chosen[a] < sorted.chosen[b]; });
      EXPECT(sorted.order == expected);
      for (int64_t i = 0; i < sorted.num_calls; ++i) EXPECT(sorted.places[expected[i]] == i);
      EXPECT(sorted.start.front() == 0 && sorted.start.back() == sorted.num_calls);
      EXPECT(sorted.start[5] == sorted.start[6]);
      for (int64_t e = 0; e < Sorted::kExperts; ++e) {
        for (int32_t i = sorted.start[e]; i < sorted.start[e + 1]; ++i) EXPECT(sorted.chosen[sorted.order[i]] == e);
      }
    });
  }
}

TEST("rows that are sent to experts come back as the sum of their terms, each rounded") {
  check_sum<Bf16>();
  check_sum<F16>();
}

TEST("each expert's rows have the bits of its own product, for few rows and for many") {
  check_products<Bf16>(5);
  check_products<Bf16>(180);
  check_products<F16>(7);
  check_products<F16>(172);
}
