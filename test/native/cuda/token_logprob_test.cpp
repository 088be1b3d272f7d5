// Scores of rows of logits against f64, the CPU's kernels and the sampler, gradients of the logits against differences
// and the CPU's.
#include "kernels/cuda/train/token_logprob.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

#include "gpu.h"
#include "kernels/cuda/sampling/sampler.h"
#include "kernels/logprob.h"
#include "kernels/rows.h"

using namespace seekrl;
using namespace seekrl::cuda;
using namespace seekrl::test;

namespace {

struct Truth {
  double logprob, entropy;
};

Truth score(const std::vector<double>& logits, int64_t id, double inverse_temperature, double softcap) {
  std::vector<double> z;
  for (const double x : logits) {
    z.push_back((softcap > 0 ? softcap * std::tanh(x / softcap) : x) * inverse_temperature);
  }
  const double most = *std::max_element(z.begin(), z.end());
  double sum = 0, weighted = 0;
  for (const double each : z) {
    const double e = std::exp(each - most);
    sum += e;
    if (e > 0) weighted += (each - most) * e;
  }
  return {z[id] - most - std::log(sum), std::log(sum) - weighted / sum};
}

// Rows of logits with what lies behind them, which nothing may use.
struct Rows {
  Rows(int64_t count_, int64_t size_, float temperature, float softcap_)
      : count(count_),
        size(size_),
        stride((size_ + 7) / 8 * 8),
        inverse_temperature(1 / temperature),
        softcap(softcap_),
        logits(normals<float>(count * stride, 1, 4)),
        logprob_grad(normals<float>(count, 2)),
        entropy_grad(normals<float>(count, 3)) {
    for (int64_t r = 0; r < count; ++r) {
      for (int64_t v = size; v < stride; ++v) logits[r * stride + v] = NAN;
      ids.push_back(r % 2 == 0 ? size - 1 - r : r);
    }
  }

  std::vector<double> row(int64_t r) const { return {logits.begin() + r * stride, logits.begin() + r * stride + size}; }
  Truth truth(const std::vector<double>& row, int64_t r) const {
    return score(row, ids[r], inverse_temperature, softcap);
  }
  LogitRows of(std::vector<float>& data) const {
    return {data.data(), ids.data(), count, size, stride, inverse_temperature, softcap};
  }
  // The gradient of sum_r logprob_grad logprob + entropy_grad entropy.
  std::vector<double> gradient() const {
    std::vector<double> all;
    for (int64_t r = 0; r < count; ++r) {
      std::vector<double> x = row(r);
      const auto sum = [&] {
        const Truth found = truth(x, r);
        return logprob_grad[r] * found.logprob + entropy_grad[r] * found.entropy;
      };
      for (int64_t v = 0; v < size; ++v) {
        const double at = x[v];
        x[v] = at + 1e-5;
        const double above = sum();
        x[v] = at - 1e-5;
        all.push_back((above - sum()) / 2e-5);
        x[v] = at;
      }
    }
    return all;
  }

  int64_t count, size, stride;
  float inverse_temperature, softcap;
  std::vector<float> logits, logprob_grad, entropy_grad;
  std::vector<int64_t> ids;
};

struct Scores {
  explicit Scores(int64_t rows) : logprob(poison<float>(rows)), entropy(logprob), max(logprob), log_sum(logprob) {}
  RowScores call() { return {logprob.data(), entropy.data(), max.data(), log_sum.data()}; }
  std::vector<float> logprob, entropy, max, log_sum;
};

template <class Number>
void check_gradient(const Rows& rows, const std::vector<double>& truth, double tolerance) {
  const Dtype dtype = std::is_same_v<Number, float>  ? Dtype::kFloat
                      : std::is_same_v<Number, Bf16> ? Dtype::kBf16
                                                     : Dtype::kF16;
  std::vector<float> data = rows.logits;
  Scores scores(rows.count);
  EXPECT(score_logits(scores.call(), rows.of(data), nullptr) == nullptr);
  EXPECT(logit_gradients(rows.of(data), scores.call(), {rows.logprob_grad.data(), rows.entropy_grad.data()}, dtype,
                         nullptr) == nullptr);
  std::vector<Number> actual;
  for (int64_t r = 0; r < rows.count; ++r) {
    std::vector<Number> row(rows.stride);
    std::memcpy(row.data(), data.data() + r * rows.stride, rows.stride * sizeof(Number));
    actual.insert(actual.end(), row.begin(), row.begin() + rows.size);
    for (int64_t v = rows.size; v < rows.stride; ++v) EXPECT(value(row[v]) == 0);
  }
  EXPECT(relative_error(actual, truth) < tolerance);
}

// A part of the rows' logits, as the rank that has it makes them.
struct Part {
  Part(const Rows& rows, int64_t first_, int64_t end)
      : first(first_), size(end - first_), stride((size + 7) / 8 * 8), logits(rows.count * stride, NAN) {
    for (int64_t r = 0; r < rows.count; ++r)
      std::copy_n(rows.logits.begin() + r * rows.stride + first, size, logits.begin() + r * stride);
  }
  LogitRows of(const Rows& rows) {
    return {logits.data(), rows.ids.data(), rows.count, size, stride, rows.inverse_temperature, rows.softcap, true,
            first};
  }
  int64_t first, size, stride;
  std::vector<float> logits;
};

bool is_same(float a, float b) { return a == b || (std::isnan(a) && std::isnan(b)); }

// By the CPU's kernels, as ops/token_logprob.cpp calls them.
void check_cpu(const Rows& rows) {
  std::vector<float> data = rows.logits;
  Scores scores(rows.count);
  EXPECT(score_logits(scores.call(), rows.of(data), nullptr) == nullptr);
  EXPECT(logit_gradients(rows.of(data), scores.call(), {rows.logprob_grad.data(), rows.entropy_grad.data()},
                         Dtype::kFloat, nullptr) == nullptr);
  for (int64_t r = 0; r < rows.count; ++r) {
    const float* const from = rows.logits.data() + r * rows.stride;
    std::vector<float> z(from, from + rows.size);
    if (rows.softcap > 0) kernels::reference::softcap(z.data(), rows.size, rows.softcap);
    std::vector<float> grad = z;
    const auto stats = kernels::reference::row_stats(z.data(), rows.size, rows.inverse_temperature);
    EXPECT(is_same(scores.logprob[r], kernels::logprob(stats, z[rows.ids[r]], rows.inverse_temperature)));
    EXPECT(is_same(scores.entropy[r], stats.entropy) && is_same(scores.log_sum[r], stats.log_sum));
    kernels::reference::row_backward(grad.data(), rows.size, rows.inverse_temperature, stats,
                                     {rows.ids[r], rows.logprob_grad[r], rows.entropy_grad[r]});
    const float inverse_cap = rows.softcap > 0 ? 1.0f / rows.softcap : 0.0f;
    int64_t num_wrong = 0;
    for (int64_t v = 0; v < rows.size; ++v) {
      if (rows.softcap > 0) grad[v] *= 1.0f - (z[v] * inverse_cap) * (z[v] * inverse_cap);
      num_wrong += is_same(data[r * rows.stride + v], grad[v]) ? 0 : 1;
    }
    EXPECT(num_wrong == 0);
  }
}

}  // namespace

TEST("log-probabilities and entropies of rows of logits are those of f64, also of an odd vocabulary") {
  for (const auto& [size, temperature, softcap] :
       {std::tuple<int64_t, float, float>{5, 1, 0}, {4099, 0.7f, 0}, {8200, 1.3f, 0}, {777, 1, 3}}) {
    const Rows rows(5, size, temperature, softcap);
    std::vector<double> logprob, entropy;
    for (int64_t r = 0; r < rows.count; ++r) {
      logprob.push_back(rows.truth(rows.row(r), r).logprob);
      entropy.push_back(rows.truth(rows.row(r), r).entropy);
    }
    with_each_order([&] {
      std::vector<float> data = rows.logits;
      Scores scores(rows.count);
      EXPECT(score_logits(scores.call(), rows.of(data), nullptr) == nullptr);
      // Sums of thousands of f32 terms by a tree.
      EXPECT(relative_error(scores.logprob, logprob) < 1e-6);
      EXPECT(relative_error(scores.entropy, entropy) < 2e-6);
    });
  }
}

TEST("a row's scores and gradients are the bits of the CPU's kernels, soft caps included, wherever the row lies") {
  for (const auto& [size, temperature, softcap] :
       {std::tuple<int64_t, float, float>{5, 1, 0}, {1024, 0.7f, 30}, {4099, 1.3f, 0}, {2050, 1, 3}}) {
    Rows rows(4, size, temperature, softcap);
    std::copy_n(rows.logits.begin(), rows.stride, rows.logits.begin() + 3 * rows.stride);
    with_each_order([&] { check_cpu(rows); });
  }
}

TEST("logits of minus infinity have no share, and what is not finite gives the CPU's NaN") {
  Rows rows(6, 1501, 1.1f, 0);
  const auto at = [&](int64_t r, int64_t v) -> float& { return rows.logits[r * rows.stride + v]; };
  for (int64_t v = 0; v < rows.size; ++v) {
    if (v % 3 == 1) at(0, v) = at(1, v) = -INFINITY;
    at(2, v) = -INFINITY;
  }
  rows.ids[0] = 3;
  rows.ids[1] = 4;  // has no probability
  at(3, 700) = INFINITY;
  at(4, 1500) = NAN;
  at(5, 9) = -INFINITY;
  check_cpu(rows);
  std::vector<float> data = rows.logits;
  Scores scores(rows.count);
  EXPECT(score_logits(scores.call(), rows.of(data), nullptr) == nullptr);
  EXPECT_NEAR(scores.entropy[0] / rows.truth(rows.row(0), 0).entropy, 1, 2e-6);
  EXPECT(scores.logprob[1] == -INFINITY && scores.entropy[1] == scores.entropy[1]);
  for (const int64_t r : {2, 3, 4}) EXPECT(std::isnan(scores.logprob[r]) && std::isnan(scores.entropy[r]));
  Rows capped(2, 100, 1, 5);
  capped.logits[7] = -INFINITY;
  check_cpu(capped);
}

TEST("a token's log-probability in training is the bits that the sampler gave with it") {
  const int64_t count = kIsRaceTest ? 1 : 4, size = 3000;
  for (const auto& [temperature, softcap] : {std::pair<double, float>{1, 0}, {0.7, 0}, {1.4, 20}, {1, 4}}) {
    std::vector<float> logits = normals<float>(count * size, 5, 4);
    logits[17] = -INFINITY;
    std::vector<SampleRow> options;
    std::vector<int32_t> num_tokens;
    for (int32_t r = 0; r < count; ++r) {
      options.push_back({static_cast<uint64_t>(r), nullptr, nullptr, 0, r, temperature, 1, 0, 1, 0, 0, 1});
      num_tokens.push_back(r);
    }
    std::vector<DrawnToken> drawn(count);
    EXPECT(cuda::sample({drawn.data(), logits.data(), options.data(), num_tokens.data(), count, size, softcap},
                        nullptr) == nullptr);
    std::vector<int64_t> ids;
    for (const DrawnToken& each : drawn) ids.push_back(each.token);
    Scores scores(count), unit(count);
    LogitRows rows{logits.data(), ids.data(), count, size, size, static_cast<float>(1 / temperature), softcap};
    EXPECT(score_logits(scores.call(), rows, nullptr) == nullptr);
    rows.inverse_temperature = 1;
    EXPECT(score_logits(unit.call(), rows, nullptr) == nullptr);
    for (int64_t r = 0; r < count; ++r) {
      EXPECT(scores.logprob[r] == drawn[r].logprob && unit.entropy[r] == drawn[r].entropy);
    }
  }
}

TEST("scores of parts put together are those of whole rows, and gradients of parts those of their logits") {
  for (const float softcap : {0.0f, 5.0f}) {
    const Rows rows(3, 1701, 0.8f, softcap);
    const ScoreGradients gradients{rows.logprob_grad.data(), rows.entropy_grad.data()};
    std::vector<float> data = rows.logits;
    Scores scores(rows.count), combined(rows.count);
    EXPECT(score_logits(scores.call(), rows.of(data), nullptr) == nullptr);
    EXPECT(logit_gradients(rows.of(data), scores.call(), gradients, Dtype::kFloat, nullptr) == nullptr);
    std::vector<Part> parts = {{rows, 0, 640}, {rows, 640, 1280}, {rows, 1280, 1701}};
    std::vector<float> told = poison<float>(std::ssize(parts) * 4 * rows.count);
    with_each_order([&] {
      for (size_t p = 0; p < parts.size(); ++p) {
        float* const to = told.data() + p * 4 * rows.count;
        const RowScores own = {to, to + rows.count, to + 2 * rows.count, to + 3 * rows.count};
        EXPECT(score_logits(own, parts[p].of(rows), nullptr) == nullptr);
      }
      EXPECT(combine_scores(combined.call(), told.data(), std::ssize(parts), rows.count, nullptr) == nullptr);
    });
    for (int64_t r = 0; r < rows.count; ++r) {
      const Truth truth = rows.truth(rows.row(r), r);
      EXPECT_NEAR(combined.logprob[r] / truth.logprob, 1, 1e-6);
      EXPECT_NEAR(combined.entropy[r] / truth.entropy, 1, 2e-6);
      EXPECT(combined.max[r] == scores.max[r]);
    }
    for (Part& part : parts) {
      EXPECT(logit_gradients(part.of(rows), combined.call(), gradients, Dtype::kFloat, nullptr) == nullptr);
      std::vector<float> actual, expected;
      for (int64_t r = 0; r < rows.count; ++r) {
        const auto own = part.logits.begin() + r * part.stride, whole = data.begin() + r * rows.stride + part.first;
        actual.insert(actual.end(), own, own + part.size);
        expected.insert(expected.end(), whole, whole + part.size);
      }
      EXPECT(relative_error(actual, std::vector<double>(expected.begin(), expected.end())) < 2e-6);
    }
  }
}

TEST("gradients of logits are their differences, in f32 and rounded to 16 bits where the logits lay") {
  for (const float softcap : {0.0f, 5.0f}) {
    const Rows rows(3, 301, 0.8f, softcap);
    const std::vector<double> truth = rows.gradient();
    with_each_order([&] {
      check_gradient<float>(rows, truth, 5e-6);
      check_gradient<Bf16>(rows, truth, 3e-3);
      check_gradient<F16>(rows, truth, 4e-4);
    });
  }
}

TEST("gradients in 16 bits of a row longer than a round of the block are those in f32, rounded") {
  const Rows rows(2, 9001, 1, 0);
  std::vector<float> data = rows.logits, halves = rows.logits;
  Scores scores(rows.count);
  EXPECT(score_logits(scores.call(), rows.of(data), nullptr) == nullptr);
  const ScoreGradients gradients{rows.logprob_grad.data(), rows.entropy_grad.data()};
  EXPECT(logit_gradients(rows.of(data), scores.call(), gradients, Dtype::kFloat, nullptr) == nullptr);
  EXPECT(logit_gradients(rows.of(halves), scores.call(), gradients, Dtype::kBf16, nullptr) == nullptr);
  int64_t num_wrong = 0;
  for (int64_t r = 0; r < rows.count; ++r) {
    const auto* row = reinterpret_cast<const Bf16*>(halves.data() + r * rows.stride);
    for (int64_t v = 0; v < rows.size; ++v) {
      num_wrong += row[v].bits != from_float<Bf16>(data[r * rows.stride + v]).bits ? 1 : 0;
    }
  }
  EXPECT(num_wrong == 0);
}
