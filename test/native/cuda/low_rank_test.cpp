// What adapters add to a batch's rows against f64, and the bits of the two products that it is.
#include "kernels/cuda/product/low_rank.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "gpu.h"
#include "kernels/cuda/product/product.h"

using namespace seekrl;
using namespace seekrl::cuda;
using namespace seekrl::test;

namespace {

constexpr int64_t kN = 70, kK = 136, kMaxRank = 40;
constexpr int32_t kEach[] = {0, 1, 2, 3};

// Adapters of several ranks; the second has no part in the product, the fourth no rows.
template <class Number>
struct Adapters {
  Adapters() {
    for (const int64_t rank : {8, 16, 40, 24}) {
      down.push_back(normals<Number>(rank * kK, 10 + rank));
      up.push_back(normals<Number>(kN * rank, 20 + rank));
      pairs.push_back({down.back().data(), up.back().data(), rank, 0.25f * static_cast<float>(pairs.size() + 1)});
    }
    pairs[1].down_RK = pairs[1].up_NR = nullptr;
  }

  std::vector<std::vector<Number>> down, up;
  std::vector<LowRankPair> pairs;
};

// A batch whose adapter g has rows from start[g] to start[g + 1], of which those behind the batch's end are none.
template <class Number, class Out>
struct Batch {
  explicit Batch(std::vector<int32_t> start_, int64_t num_rows)
      : start(std::move(start_)), m(num_rows), x(normals<Number>(m * kStride, 1)), before(normals<Out>(m * kN, 2)) {}

  LowRank call(std::vector<Out>& out, std::vector<Number>& inner) const {
    LowRank to = {};
    to.out_MN = out.data();
    to.inner_MR = inner.data();
    to.x_MK = x.data();
    to.pairs_A = adapters.pairs.data();
    to.start_G = start.data();
    to.adapter_G = kEach;
    to.out_stride = kN;
    to.x_stride = kStride;
    to.m = m;
    to.n = kN;
    to.k = kK;
    to.num_runs = static_cast<int64_t>(start.size()) - 1;
    to.max_rank = kMaxRank;
    to.dtype = kDtype<Number>;
    to.out_dtype = std::is_same_v<Out, float> ? Dtype::kFloat : kDtype<Number>;
    return to;
  }

  std::vector<Out> added() const {
    std::vector<Out> out = before;
    std::vector<Number> inner = poison<Number>(m * kMaxRank);
    EXPECT(add_low_rank(call(out, inner), nullptr) == nullptr);
    return out;
  }

  // The same by two products for each adapter.
  std::vector<Out> added_by_products() const {
    std::vector<Out> out = before;
    std::vector<Number> inner(m * kMaxRank);
    for (size_t g = 0; g + 1 < start.size(); ++g) {
      const LowRankPair& pair = adapters.pairs[g];
      if (pair.down_RK == nullptr) continue;
      const int64_t first = start[g], count = std::min<int64_t>(start[g + 1], m) - first;
      const Product down = {inner.data(),
                            x.data() + first * kStride,
                            pair.down_RK,
                            nullptr,
                            pair.rank,
                            kStride,
                            kK,
                            count,
                            pair.rank,
                            kK,
                            ProductForm::kForward,
                            kDtype<Number>,
                            kDtype<Number>,
                            false,
                            pair.scale};
      EXPECT(product(down, nullptr) == nullptr);
      const Dtype out_dtype = std::is_same_v<Out, float> ? Dtype::kFloat : kDtype<Number>;
      const Product up = {
          out.data() + first * kN, inner.data(),   pair.up_NR, nullptr, kN, pair.rank, pair.rank, count, kN, pair.rank,
          ProductForm::kForward,   kDtype<Number>, out_dtype,  true};
      EXPECT(product(up, nullptr) == nullptr);
    }
    return out;
  }

  // In f64, the inner part too.
  std::vector<double> truth() const {
    std::vector<double> out = doubles(before);
    for (int64_t row = 0; row < m; ++row) {
      const int64_t g = std::upper_bound(start.begin(), start.end(), row) - start.begin() - 1;
      if (g < 0 || g + 1 >= static_cast<int64_t>(start.size()) || adapters.pairs[g].down_RK == nullptr) continue;
      for (int64_t r = 0; r < adapters.pairs[g].rank; ++r) {
        double inner = 0;
        for (int64_t c = 0; c < kK; ++c) inner += value(x[row * kStride + c]) * value(adapters.down[g][r * kK + c]);
        inner *= adapters.pairs[g].scale;
        for (int64_t n = 0; n < kN; ++n) {
          out[row * kN + n] += inner * value(adapters.up[g][n * adapters.pairs[g].rank + r]);
        }
      }
    }
    return out;
  }

  static constexpr int64_t kStride = kK + 8;
  const Adapters<Number> adapters;
  const std::vector<int32_t> start;
  const int64_t m;
  const std::vector<Number> x;
  const std::vector<Out> before;
};

template <class Out>
bool same_bits(const std::vector<Out>& a, const std::vector<Out>& b) {
  return a.size() == b.size() &&
         std::equal(a.begin(), a.end(), b.begin(), [](Out p, Out q) { return to_float(p) == to_float(q); });
}

template <class Number, class Out>
void check(const std::vector<int32_t>& start, int64_t num_rows, double tolerance) {
  const Batch<Number, Out> batch(start, num_rows);
  const std::vector<Out> expected = batch.added_by_products();
  EXPECT(relative_error(expected, batch.truth()) < tolerance);
  with_each_order([&] { EXPECT(same_bits(batch.added(), expected)); });
}

}  // namespace

// The inner part is rounded to 8 bits (bf16) or 11 (f16), which is the error.
TEST("each row gets what its own adapter adds, with the bits of two products, in batches of few rows and of many") {
  check<Bf16, Bf16>({1, 4, 6, 30, 30}, 35, 3e-3);
  check<F16, float>({0, 17, 18, 19, 1 << 30}, 20, 3e-4);
  check<Bf16, float>({3, 70, 72, 261, 261}, 265, 3e-3);
  if (!kIsRaceTest) check<F16, F16>({3, 70, 72, 261, 261}, 265, 3e-4);
}

TEST("a row of an adapter has the same bits alone and in a mixed batch") {
  const Batch<Bf16, float> batch({0, 5, 7, 40, 41}, 41);
  const std::vector<float> all = batch.added();
  std::vector<float> one(batch.before.begin() + 20 * kN, batch.before.begin() + 21 * kN);
  std::vector<Bf16> inner = poison<Bf16>(kMaxRank);
  LowRank call = batch.call(one, inner);
  const std::vector<int32_t> start = {0, 1};
  call.x_MK = batch.x.data() + 20 * call.x_stride;
  const int32_t third = 2;
  call.start_G = start.data();
  call.adapter_G = &third;
  call.m = call.num_runs = 1;
  EXPECT(add_low_rank(call, nullptr) == nullptr);
  EXPECT(std::equal(one.begin(), one.end(), all.begin() + 20 * kN));
}

TEST("rows of a run without an adapter, and of one that comes again, stay and get what they should") {
  const Batch<Bf16, float> batch({0, 5, 7, 40, 41}, 41);
  const std::vector<float> expected = batch.added();
  std::vector<float> out = batch.before;
  std::vector<Bf16> inner = poison<Bf16>(41 * kMaxRank);
  LowRank call = batch.call(out, inner);
  const std::vector<int32_t> start = {7, 20, 25, 40}, adapters = {2, -1, 2};
  call.start_G = start.data();
  call.adapter_G = adapters.data();
  call.num_runs = 3;
  EXPECT(add_low_rank(call, nullptr) == nullptr);
  for (int64_t i = 0; i < 41 * kN; ++i) {
    const int64_t row = i / kN;
    const bool is_added = (row >= 7 && row < 20) || (row >= 25 && row < 40);
    EXPECT(out[i] == (is_added ? expected[i] : batch.before[i]));
  }
}
