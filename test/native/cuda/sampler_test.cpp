// Draws on the GPU against the same rules in f64, their log-probabilities against the CPU's kernel.
#include "kernels/cuda/sampling/sampler.h"

#include <cmath>
#include <cstdint>
#include <functional>
#include <numeric>
#include <vector>

#include "gpu.h"
#include "kernels/sampling.h"

using namespace seekrl;
using namespace seekrl::cuda;
using namespace seekrl::test;

namespace {

constexpr float kNever = -INFINITY;

SampleRow row_of(uint64_t seed) { return {seed, nullptr, nullptr, 0, 0, 1, 1, 0, 1, 0, 0, 1}; }

float edited(const SampleRow& row, int32_t v, float z) {
  if (row.mask != nullptr && (row.mask[v / 32] >> v % 32 & 1) == 0) z = kNever;
  for (int32_t e = 0; e < row.num_edits; ++e) {
    const LogitEdit& edit = row.edits[e];
    if (edit.token != v) continue;
    z += edit.bias;
    if (edit.num_said < 0) continue;
    z = z < 0 ? z * row.repetition : z / row.repetition;
    if (edit.num_said > 0) z = z - row.frequency * static_cast<float>(edit.num_said) - row.presence;
  }
  return z;
}

// Weights in f64 of what the options keep; 0 for the rest.
std::vector<double> kept_weights(const float* logits, int64_t size, const SampleRow& row) {
  std::vector<double> weights(size);
  double largest = -INFINITY;
  for (int64_t v = 0; v < size; ++v) {
    weights[v] = edited(row, static_cast<int32_t>(v), logits[v]) / row.temperature;
    largest = std::max(largest, weights[v]);
  }
  for (double& each : weights) each = std::exp(each - largest);
  std::vector<double> sorted = weights;
  std::sort(sorted.begin(), sorted.end(), std::greater<>());
  double bound = row.min_p;
  if (row.top_k > 0 && row.top_k < size) bound = std::max(bound, sorted[row.top_k - 1]);
  const double last = row.top_k > 0 && row.top_k < size ? sorted[row.top_k - 1] : 0;
  double total = 0, sum = 0;
  for (const double each : sorted) total += each >= last ? each : 0;
  for (size_t i = 0; i < sorted.size() && row.top_p < 1; ++i) {
    sum += sorted[i];
    if (sum < row.top_p * total * (1 - 1e-12)) continue;
    bound = std::max(bound, sorted[i]);
    break;
  }
  // Weights that f32 cannot tell apart are equal.
  for (double& each : weights) each = each >= bound * (1 - 1e-6) ? each : 0;
  return weights;
}

// Whether `token` is what u draws, or its neighbour where u is within rounding of the boundary between them.
bool is_drawn(const std::vector<double>& weights, double u, int32_t token) {
  double total = 0, before = 0;
  for (const double each : weights) total += each;
  if (token < 0 || token >= std::ssize(weights) || weights[token] == 0) return false;
  for (int32_t v = 0; v < token; ++v) before += weights[v];
  return u >= before / total - 2e-6 && u < (before + weights[token]) / total + 2e-6;
}

std::vector<DrawnToken> draw(const std::vector<float>& logits, const std::vector<SampleRow>& rows) {
  const auto num_rows = std::ssize(rows);
  std::vector<DrawnToken> drawn(num_rows, {-7, NAN, NAN});
  std::vector<int32_t> num_tokens(num_rows);
  for (int64_t r = 0; r < num_rows; ++r) num_tokens[r] = static_cast<int32_t>(10 + r);
  const int64_t vocab_size = std::ssize(logits) / num_rows;
  EXPECT(cuda::sample({drawn.data(), logits.data(), rows.data(), num_tokens.data(), num_rows, vocab_size}, nullptr) ==
         nullptr);
  return drawn;
}

double uniform_of(const SampleRow& row, size_t r) {
  return seekrl::uniform(row.seed, kernels::kSamplingStream, 10 + r);
}

void check_stats(const float* logits, int64_t size, const SampleRow& row, const DrawnToken& drawn) {
  const auto inverse = static_cast<float>(row.temperature == 0 ? 1 : 1 / row.temperature);
  const kernels::RowStats stats = kernels::reference::row_stats(logits, size, inverse);
  EXPECT(drawn.logprob == kernels::logprob(stats, logits[drawn.token], inverse));
  double total = 0, weighted = 0, unit = 0;
  const double largest = *std::max_element(logits, logits + size);
  for (int64_t v = 0; v < size; ++v) {
    total += std::exp((logits[v] - largest) * inverse);
    unit += std::exp(logits[v] - largest);
    weighted += std::exp(logits[v] - largest) * (logits[v] - largest);
  }
  EXPECT_NEAR(drawn.logprob, (logits[drawn.token] - largest) * inverse - std::log(total), 1e-5);
  EXPECT_NEAR(drawn.entropy, row.wants_entropy != 0 ? std::log(unit) - weighted / unit : 0, 1e-5);
}

// One row for each combination of limits and temperatures.
std::vector<SampleRow> all_limits() {
  std::vector<SampleRow> rows;
  for (const int32_t top_k : {0, 7, 400}) {
    for (const double top_p : {1.0, 0.8}) {
      for (const double min_p : {0.0, 0.02}) {
        if (kIsRaceTest && min_p > 0) continue;
        SampleRow row = row_of(rows.size());
        row.top_k = top_k;
        row.top_p = top_p;
        row.min_p = min_p;
        row.temperature = rows.size() % 2 == 0 ? 1 : 1.7;
        row.wants_entropy = rows.size() % 3 != 0 ? 1 : 0;
        rows.push_back(row);
      }
    }
  }
  return rows;
}

void check(const std::vector<float>& logits, const std::vector<SampleRow>& rows) {
  const int64_t size = std::ssize(logits) / std::ssize(rows);
  const std::vector<DrawnToken> drawn = draw(logits, rows);
  for (size_t r = 0; r < rows.size(); ++r) {
    const float* row = logits.data() + r * size;
    EXPECT(is_drawn(kept_weights(row, size, rows[r]), uniform_of(rows[r], r), drawn[r].token));
    if (drawn[r].token >= 0) check_stats(row, size, rows[r], drawn[r]);
  }
}

// Edits of every kind, of every third token and of a forbidden one.
std::vector<LogitEdit> edits_of(int32_t size) {
  std::vector<LogitEdit> edits;
  for (int32_t v = 0; v < size; v += 3) edits.push_back({v, v % 5 - 1, v % 2 == 0 ? 0.0f : 0.5f});
  edits[edits.size() / 2].bias = kNever;
  return edits;
}

}  // namespace

TEST("the GPU draws what u draws of the weights that each limit keeps, for rows of any size") {
  const std::vector<SampleRow> rows = all_limits();
  for (const int64_t size : kIsRaceTest ? std::vector<int64_t>{2003} : std::vector<int64_t>{1, 33, 2000, 5003}) {
    const std::vector<float> logits = normals<float>(std::ssize(rows) * size, size, 3);
    with_each_order([&] { check(logits, rows); });
  }
}

TEST("a large vocabulary is drawn from on the GPU") {
  for (const int64_t size : kIsRaceTest ? std::vector<int64_t>{} : std::vector<int64_t>{131074, 262208}) {
    std::vector<SampleRow> rows = {row_of(1), row_of(2), row_of(3)};
    rows[1].top_k = 20000;
    rows[1].top_p = 0.9;
    rows[2].top_p = 0.5;
    check(normals<float>(3 * size, 5, 2), rows);
  }
}

TEST("draws of many seeds on the GPU are those of the CPU's numbers") {
  constexpr int64_t kSize = 300, kRows = kIsRaceTest ? 2 : 64;
  std::vector<SampleRow> rows;
  for (int64_t r = 0; r < kRows; ++r) {
    rows.push_back(row_of(1000 + r));
    rows.back().top_p = 0.95;
  }
  const std::vector<float> one = normals<float>(kSize, 3);
  std::vector<float> logits;
  for (int64_t r = 0; r < kRows; ++r) logits.insert(logits.end(), one.begin(), one.end());
  check(logits, rows);
}

TEST("tokens of equal weight are kept or left together, however many they are") {
  constexpr int64_t kSize = 6001;
  std::vector<SampleRow> rows = all_limits();
  std::vector<float> logits = normals<float>(std::ssize(rows) * kSize, 9);
  for (float& each : logits) each = std::round(each);  // seven values or so
  check(logits, rows);
  std::fill(logits.begin(), logits.end(), 2.5f);
  check(logits, rows);
}

TEST("masks, biases, forbidden tokens and penalties on the GPU are the CPU's") {
  constexpr int32_t kSize = 3001;
  std::vector<SampleRow> rows = all_limits();
  const std::vector<float> logits = normals<float>(std::ssize(rows) * kSize, 21, 2);
  const std::vector<LogitEdit> edits = edits_of(kSize);
  std::vector<uint32_t> mask((kSize + 31) / 32);
  for (size_t i = 0; i < mask.size(); ++i) mask[i] = static_cast<uint32_t>(philox(3, 4, i)[0]);
  for (size_t r = 0; r < rows.size(); ++r) {
    if (r % 3 != 0) rows[r].mask = mask.data();
    if (r % 3 != 1) {
      rows[r].edits = edits.data();
      rows[r].num_edits = static_cast<int32_t>(edits.size());
    }
    rows[r].repetition = 1.3f;
    rows[r].frequency = 0.2f;
    rows[r].presence = 0.4f;
  }
  with_each_order([&] { check(logits, rows); });
}

TEST("a greedy row on the GPU takes the first of the largest edited logits") {
  constexpr int64_t kSize = 4099;
  std::vector<float> logits = normals<float>(3 * kSize, 31);
  for (const int64_t at : {17, 1100, 4098}) logits[at] = logits[kSize + at] = logits[2 * kSize + at] = 50;
  std::vector<SampleRow> rows = {row_of(1), row_of(2), row_of(3)};
  for (SampleRow& each : rows) each.temperature = 0;
  const LogitEdit edit{17, -1, kNever};
  rows[1].edits = &edit;
  rows[1].num_edits = 1;
  std::vector<uint32_t> mask((kSize + 31) / 32);
  mask.back() = 4;  // 4,098
  rows[2].mask = mask.data();
  with_each_order([&] {
    const std::vector<DrawnToken> drawn = draw(logits, rows);
    const int32_t expected[] = {17, 1100, 4098};
    for (size_t r = 0; r < rows.size(); ++r) {
      EXPECT(drawn[r].token == expected[r]);
      check_stats(logits.data() + r * kSize, kSize, rows[r], drawn[r]);
    }
  });
}

TEST("a row of which all is forbidden has no token, one that is not finite has no log-probability") {
  constexpr int64_t kSize = 1500;
  std::vector<float> logits = normals<float>(6 * kSize, 41);
  logits[kSize + 700] = NAN;
  logits[2 * kSize + 3] = INFINITY;
  std::fill(logits.begin() + 3 * kSize, logits.begin() + 4 * kSize, kNever);
  logits[4 * kSize + 9] = kNever;
  logits[5 * kSize + 700] = NAN;
  const std::vector<uint32_t> mask((kSize + 31) / 32);
  std::vector<SampleRow> rows(6, row_of(1));
  rows[0].mask = mask.data();
  rows[1].top_k = 5;
  rows[2].top_p = 0.5;
  rows[4].top_p = 0.9;
  rows[5].temperature = 0;
  const std::vector<DrawnToken> drawn = draw(logits, rows);
  EXPECT(drawn[0].token == -1 && drawn[0].logprob == 0);
  EXPECT(drawn[4].token >= 0 && std::isfinite(drawn[4].logprob) && std::isfinite(drawn[4].entropy));
  for (const size_t r : {1, 2, 3, 5}) EXPECT(drawn[r].token == 0 && std::isnan(drawn[r].logprob));
}

TEST("a row whose scores are made of parts is drawn from as ever, and told the logits of what was drawn and listed") {
  const int64_t size = 700, count = 2;
  const std::vector<float> logits = normals<float>(count * size, 6, 3);
  std::vector<SampleRow> rows = {row_of(1), row_of(2)};
  rows[1].temperature = 0.5;
  const std::vector<DrawnToken> usual = draw(logits, rows);
  for (SampleRow& row : rows) row.num_top = 2;
  const std::vector<int32_t> num_tokens = {10, 11};
  std::vector<DrawnToken> drawn(count);
  std::vector<kernels::TopToken> top(count * kernels::kMaxTop);
  SampleCall call = {drawn.data(), logits.data(), rows.data(), num_tokens.data(), count, size, 0, top.data(), true};
  EXPECT(cuda::sample(call, nullptr) == nullptr);
  for (int64_t r = 0; r < count; ++r) {
    const float* const row = logits.data() + r * size;
    const auto inverse = static_cast<float>(1 / rows[r].temperature);
    EXPECT(drawn[r].token == usual[r].token && drawn[r].logprob == row[drawn[r].token] * inverse);
    const kernels::TopToken& first = top[r * kernels::kMaxTop];
    EXPECT(row[first.token] == *std::max_element(row, row + size) && first.logprob == row[first.token] * inverse);
  }
}

TEST("the most likely tokens of a row on the GPU are those of a sorted one, the first of equal ones first") {
  for (const int64_t size : kIsRaceTest ? std::vector<int64_t>{1030} : std::vector<int64_t>{5, 1030, 4096, 70003}) {
    const auto num_top = static_cast<int32_t>(std::min<int64_t>(size, kernels::kMaxTop));
    std::vector<float> logits = normals<float>(3 * size, 51, 3);
    for (int64_t v = 0; v < size; ++v) logits[size + v] = std::round(logits[size + v] / 3);  // many are equal
    std::fill(logits.begin() + 2 * size + 4, logits.end(), kNever);
    std::vector<SampleRow> rows(3, row_of(1));
    rows[0].temperature = 0.7;
    rows[1].temperature = 0;
    for (SampleRow& each : rows) each.num_top = num_top;
    rows[0].num_top = num_top / 2;
    const std::vector<int32_t> num_tokens(3, 10);
    with_each_order([&] {
      std::vector<DrawnToken> drawn(3);
      std::vector<kernels::TopToken> top(3 * kernels::kMaxTop, {-7, NAN});
      EXPECT(cuda::sample({.drawn_R = drawn.data(),
                           .logits_RV = logits.data(),
                           .rows_R = rows.data(),
                           .num_tokens_R = num_tokens.data(),
                           .num_rows = 3,
                           .vocab_size = size,
                           .top_RK = top.data()},
                          nullptr) == nullptr);
      for (int64_t r = 0; r < 3; ++r) {
        const float* const row = logits.data() + r * size;
        std::vector<int32_t> sorted(size);
        std::iota(sorted.begin(), sorted.end(), 0);
        std::stable_sort(sorted.begin(), sorted.end(), [&](int32_t a, int32_t b) { return row[a] > row[b]; });
        const float inverse = r == 0 ? static_cast<float>(1 / 0.7) : 1.0f;
        const kernels::RowStats stats = kernels::reference::row_stats(row, size, inverse);
        for (int32_t k = 0; k < rows[r].num_top; ++k) {
          const auto& [token, logprob] = top[r * kernels::kMaxTop + k];
          EXPECT(token == sorted[k] && logprob == kernels::logprob(stats, row[sorted[k]], inverse));
        }
        if (rows[r].num_top < kernels::kMaxTop) EXPECT(top[r * kernels::kMaxTop + rows[r].num_top].token == -7);
      }
    });
  }
}
