// Exact search against scores in f64: few and many hits, ties, corpora cut in any way.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "hits.h"
#include "kernels/cuda/search/vectors.h"

using namespace seekrl;
using namespace seekrl::cuda;
using namespace seekrl::test;

namespace {

struct Shape {
  int64_t num_rows, num_queries, width, num_hits, num_parts;
};

// Codes and their scales; of bf16, numbers and no scales.
template <class Number>
struct Vectors {
  Vectors(int64_t count, int64_t width_, uint64_t stream) : width(width_) {
    const auto values = normals<float>(count * width, stream);
    for (const float each : values) {
      if constexpr (std::is_same_v<Number, Bf16>)
        numbers.push_back(from_float<Bf16>(each));
      else
        numbers.push_back(static_cast<int8_t>(std::clamp(std::round(each * 40), -127.0f, 127.0f)));
    }
    const auto factors = normals<float>(count, stream + 1);
    for (const float each : factors) scale.push_back(0.01f + 0.01f * std::fabs(each));
  }
  double at(int64_t vector, int64_t c) const {
    if constexpr (std::is_same_v<Number, Bf16>)
      return value(numbers[vector * width + c]);
    else
      return numbers[vector * width + c];
  }
  void copy(int64_t from, int64_t to) {
    std::copy_n(numbers.begin() + from * width, width, numbers.begin() + to * width);
    scale[to] = scale[from];
  }

  int64_t width;
  std::vector<Number> numbers;
  std::vector<float> scale;
};

template <class Number>
std::vector<double> scores_of(const Vectors<Number>& rows, const Vectors<Number>& queries, int64_t query) {
  std::vector<double> scores;
  for (int64_t row = 0; row < std::ssize(rows.scale); ++row) {
    double sum = 0;
    for (int64_t c = 0; c < rows.width; ++c) sum += rows.at(row, c) * queries.at(query, c);
    if (!std::is_same_v<Number, Bf16>) sum *= double{rows.scale[row]} * queries.scale[query];
    scores.push_back(sum);
  }
  return scores;
}

template <class Number>
Hits search(const Shape& shape, const Vectors<Number>& rows, const Vectors<Number>& queries) {
  constexpr bool kIsBf16 = std::is_same_v<Number, Bf16>;
  Hits hits{std::vector<int32_t>(shape.num_queries * shape.num_hits, -7),
            poison<float>(shape.num_queries * shape.num_hits)};
  const int64_t num_bytes = vector_search_scratch_bytes(shape.num_queries, shape.num_hits, shape.num_parts);
  std::vector<uint64_t> scratch(num_bytes / 8 + 2, ~uint64_t{0});
  EXPECT(search_vectors({.ids_QM = hits.ids.data(),
                         .scores_QM = hits.scores.data(),
                         .scratch = scratch.data(),
                         .rows_NE = rows.numbers.data(),
                         .queries_QE = queries.numbers.data(),
                         .row_scale_N = kIsBf16 ? nullptr : rows.scale.data(),
                         .query_scale_Q = kIsBf16 ? nullptr : queries.scale.data(),
                         .num_rows = shape.num_rows,
                         .num_queries = shape.num_queries,
                         .width = shape.width,
                         .num_hits = shape.num_hits,
                         .num_parts = shape.num_parts,
                         .kind = kIsBf16 ? VectorKind::kBf16 : VectorKind::kInt8},
                        nullptr) == nullptr);
  EXPECT(scratch[(num_bytes + 7) / 8] == ~uint64_t{0});
  return hits;
}

// Whether `ids` are the best by `truth`, where scores differ by more than rounding, and stand in the order of `scores`.
bool is_best(const std::vector<double>& truth, const int32_t* ids, const float* scores, int64_t num_hits,
             double rounding) {
  std::vector<int32_t> order(truth.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) { return truth[a] > truth[b]; });
  std::vector<bool> is_taken(truth.size());
  for (int64_t i = 0; i < num_hits; ++i) {
    if (i >= std::ssize(truth)) {
      if (ids[i] != -1 || scores[i] != -INFINITY) return false;
      continue;
    }
    if (ids[i] < 0 || ids[i] >= std::ssize(truth) || is_taken[ids[i]]) return false;
    is_taken[ids[i]] = true;
    const double expected = truth[order[i]];
    if (!(std::fabs(scores[i] - truth[ids[i]]) <= rounding) || !(std::fabs(scores[i] - expected) <= rounding))
      return false;
    const bool is_clear = (i == 0 || truth[order[i - 1]] - expected > 2 * rounding) &&
                          (i + 1 == std::ssize(truth) || expected - truth[order[i + 1]] > 2 * rounding);
    if (is_clear && ids[i] != order[i]) return false;
    const bool is_ordered = i == 0 || scores[i] < scores[i - 1] || (scores[i] == scores[i - 1] && ids[i] > ids[i - 1]);
    if (!is_ordered) return false;
  }
  return true;
}

template <class Number>
void check_search(const Shape& shape, double rounding) {
  const Vectors<Number> rows(shape.num_rows, shape.width, 1), queries(shape.num_queries, shape.width, 3);
  std::vector<std::vector<double>> truth;
  for (int64_t query = 0; query < shape.num_queries; ++query) truth.push_back(scores_of(rows, queries, query));
  with_each_order([&] {
    const Hits hits = search(shape, rows, queries);
    for (int64_t query = 0; query < shape.num_queries; ++query) {
      const int64_t at = query * shape.num_hits;
      EXPECT(is_best(truth[query], hits.ids.data() + at, hits.scores.data() + at, shape.num_hits, rounding));
    }
  });
}

// One query's candidates by their scores in f64, each with its score's negative.
std::vector<std::pair<double, int32_t>> ranked(std::span<const int32_t> candidates, const std::vector<float>& rows,
                                               std::span<const float> query) {
  const int64_t width = std::ssize(query);
  std::vector<std::pair<double, int32_t>> truth;
  for (const int32_t row : candidates) {
    if (row < 0) continue;
    double sum = 0;
    for (int64_t c = 0; c < width; ++c) sum += double{rows[row * width + c]} * query[c];
    truth.push_back({-sum, row});
  }
  std::sort(truth.begin(), truth.end());
  return truth;
}

}  // namespace

TEST("a search finds the best rows by the scores of f64, whatever the order of threads") {
  check_search<Bf16>({301, 3, 48, 10, 2}, 1e-4);
  check_search<Bf16>({129, 65, 16, 1, 1}, 1e-4);
  check_search<Bf16>({1, 1, 144, 1, 1}, 1e-4);
  // Vectors that come in three turns, for warps that have queries of their own: each stage is used again.
  check_search<Bf16>({70, 33, 144, 3, 1}, 1e-4);
  // Lists that are cut: the hits and a tile are more than there is room for.
  check_search<Bf16>({600, 1, 16, 100, 1}, 1e-4);
  if (!kIsRaceTest) check_search<Bf16>({2500, 1, 16, 1000, 1}, 1e-4);
}

TEST("codes of 8 bits are multiplied exactly and scaled") {
  check_search<int8_t>({301, 3, 48, 10, 2}, 1e-5);
  check_search<int8_t>({200, 65, 144, 5, 2}, 1e-4);
}

TEST("where there are fewer rows than hits, the rest is none") {
  check_search<Bf16>({37, 2, 16, 1000, 1}, 1e-4);
  check_search<Bf16>({0, 2, 16, 10, 1}, 1e-4);
}

TEST("of equal scores the lower rows come first, and no cut of the corpus changes a bit") {
  const Shape shape{1100, 3, 32, 150, 1};
  Vectors<Bf16> rows(shape.num_rows, shape.width, 1);
  const Vectors<Bf16> queries(shape.num_queries, shape.width, 3);
  // Every row stands in the corpus about eleven times.
  for (int64_t row = 100; row < shape.num_rows; ++row) rows.copy(row % 100, row);
  const Hits hits = search(shape, rows, queries);
  for (int64_t query = 0; query < shape.num_queries; ++query) {
    const std::vector<double> truth = scores_of(rows, queries, query);
    EXPECT(is_best(truth, hits.ids.data() + query * shape.num_hits, hits.scores.data() + query * shape.num_hits,
                   shape.num_hits, 1e-4));
  }
  with_each_order([&] {
    for (const int64_t num_parts : {2, 5, 20}) {
      Shape cut = shape;
      cut.num_parts = num_parts;
      EXPECT(is_same(search(cut, rows, queries), hits));
    }
  });
}

TEST("candidates are scored again in f32, and the best of them returned in order") {
  const int64_t num_rows = 90, num_queries = 3, num_candidates = 41, width = 264;
  const auto rows = normals<Bf16>(num_rows * width, 1);
  const auto queries = normals<float>(num_queries * width, 2);
  std::vector<float> wide;
  for (const Bf16 each : rows) wide.push_back(to_float(each));
  std::vector<int32_t> candidates;
  for (int64_t i = 0; i < num_queries * num_candidates; ++i) {
    candidates.push_back(i % num_candidates == 5 ? -1 : static_cast<int32_t>(i * 7 % num_rows));
  }
  for (const int64_t num_hits : {7, 50}) {
    with_each_order([&] {
      for (const Dtype dtype : {Dtype::kBf16, Dtype::kFloat}) {
        Hits hits{std::vector<int32_t>(num_queries * num_hits, -7), poison<float>(num_queries * num_hits)};
        std::vector<uint64_t> scratch(vector_rescore_scratch_bytes(num_queries, num_candidates) / 8 + 2, ~uint64_t{0});
        EXPECT(rescore_vectors({hits.ids.data(), hits.scores.data(), scratch.data(), candidates.data(),
                                dtype == Dtype::kBf16 ? static_cast<const void*>(rows.data()) : wide.data(),
                                queries.data(), num_candidates, num_queries, width, num_hits, dtype},
                               nullptr) == nullptr);
        for (int64_t query = 0; query < num_queries; ++query) {
          const auto truth = ranked({candidates.data() + query * num_candidates, num_candidates}, wide,
                                    {queries.data() + query * width, width});
          for (int64_t i = 0; i < num_hits; ++i) {
            const bool is_there = i < std::ssize(truth);
            EXPECT(hits.ids[query * num_hits + i] == (is_there ? truth[i].second : -1));
            const float score = hits.scores[query * num_hits + i];
            EXPECT(is_there ? std::fabs(score + truth[i].first) < 1e-4 : score == -INFINITY);
          }
        }
      }
    });
  }
}

TEST("a search refuses what it cannot do") {
  VectorSearch call{};
  call.num_queries = call.num_hits = call.num_parts = 1;
  call.num_rows = 10;
  call.width = 24;
  EXPECT(search_vectors(call, nullptr) != nullptr);
  call.width = 16;
  call.num_hits = 1001;
  EXPECT(search_vectors(call, nullptr) != nullptr);
}
