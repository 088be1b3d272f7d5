// Scores of rows of logits against f64, gradients of the logits against differences.
#include "kernels/cuda/train/token_logprob.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

#include "card.h"

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

TEST("a row's scores do not depend on where the row lies, nor on logits of minus infinity") {
  Rows rows(3, 4099, 1, 0);
  for (int64_t v = 0; v < rows.stride; ++v) {
    if (v % 3 == 1 && v != 4098 && v != 1) rows.logits[v] = -INFINITY;
    rows.logits[2 * rows.stride + v] = rows.logits[v];
  }
  rows.ids[2] = rows.ids[0];
  std::vector<float> data = rows.logits;
  Scores scores(rows.count);
  EXPECT(score_logits(scores.call(), rows.of(data), nullptr) == nullptr);
  EXPECT(scores.logprob[0] == scores.logprob[2] && scores.entropy[0] == scores.entropy[2]);
  EXPECT_NEAR(scores.entropy[0] / rows.truth(rows.row(0), 0).entropy, 1, 2e-6);
  EXPECT(logit_gradients(rows.of(data), scores.call(), {rows.logprob_grad.data(), rows.entropy_grad.data()},
                         Dtype::kFloat, nullptr) == nullptr);
  EXPECT(data[4] == 0);
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
