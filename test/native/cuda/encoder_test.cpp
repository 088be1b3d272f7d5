// What encoders do to rows, against f64.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "gpu.h"
#include "kernels/cuda/encoder/rows.h"

using namespace seekrl;
using namespace seekrl::cuda;
using namespace seekrl::test;

namespace {

template <class Number>
void check_norm(int64_t rows, int64_t width, bool has_added, double tolerance) {
  const auto added = normals<Number>(rows * width, 1);
  const auto weight = normals<float>(width, 2), bias = normals<float>(width, 3);
  auto before = normals<float>(rows * width, 4);
  for (float& each : before) each += 3;  // a mean that squares alone would drown in
  std::vector<double> truth(rows * width);
  for (int64_t r = 0; r < rows; ++r) {
    double* const x = truth.data() + r * width;
    double mean = 0, variance = 0;
    for (int64_t c = 0; c < width; ++c) {
      x[c] = before[r * width + c] + (has_added ? value(added[r * width + c]) : 0);
      mean += x[c] / static_cast<double>(width);
    }
    for (int64_t c = 0; c < width; ++c) variance += (x[c] - mean) * (x[c] - mean) / static_cast<double>(width);
    for (int64_t c = 0; c < width; ++c) x[c] = (x[c] - mean) / std::sqrt(variance + 1e-5) * weight[c] + bias[c];
  }
  with_each_order([&] {
    std::vector<float> residual = before;
    std::vector<Number> out = poison<Number>(rows * width);
    const void* const from = has_added ? added.data() : nullptr;
    EXPECT(add_layer_norm(
               {out.data(), residual.data(), from, weight.data(), bias.data(), rows, width, 1e-5f, kDtype<Number>},
               nullptr) == nullptr);
    EXPECT(relative_error(residual, truth) < 1e-6);
    EXPECT(relative_error(out, truth) < tolerance);
  });
}

template <class Number>
void check_gelu(int64_t rows, int64_t width, double tolerance) {
  const auto before = normals<Number>(rows * width, 1, 3), bias = normals<Number>(width, 2);
  for (const bool has_bias : {true, false}) {
    std::vector<double> truth;
    for (int64_t i = 0; i < rows * width; ++i) {
      const double z = value(before[i]) + (has_bias ? value(bias[i % width]) : 0);
      truth.push_back(0.5 * z * std::erfc(-z / std::sqrt(2.0)));
    }
    with_each_order([&] {
      std::vector<Number> x = before;
      EXPECT(bias_gelu({x.data(), has_bias ? bias.data() : nullptr, rows, width, kDtype<Number>}, nullptr) == nullptr);
      EXPECT(relative_error(x, truth) < tolerance);
    });
  }
}

}  // namespace

TEST("a layer norm of a sum is that of f64, and rounded for the next product") {
  check_norm<Bf16>(3, 384, true, 3e-3);
  check_norm<Bf16>(1, 8, false, 3e-3);
  check_norm<Bf16>(2, 1032, true, 3e-3);
  check_norm<F16>(2, 4104, true, 4e-4);
  if (kIsRaceTest) return;
  for (const int64_t width : {2056, 4104}) check_norm<Bf16>(1, width, true, 3e-3);
  for (const int64_t width : {8, 1032, 2056}) check_norm<F16>(1, width, true, 4e-4);
}

TEST("a sum's GELU is that of f64") {
  check_gelu<Bf16>(5, 1544, 3e-3);
  check_gelu<F16>(1, 8, 4e-4);
}

TEST("texts are pooled to their first, last or mean row, of length 1 where that is asked for") {
  const std::vector<int32_t> start = {0, 1, 8, 41};
  const int64_t num_texts = 3;
  for (const int64_t width : kIsRaceTest ? std::vector<int64_t>{8, 1032} : std::vector<int64_t>{8, 1032, 2056, 4104}) {
    auto rows = normals<float>(start.back() * width, 1);
    std::fill_n(rows.begin(), width, 0.0f);  // has no direction
    for (const PoolKind kind : {PoolKind::kFirst, PoolKind::kMean, PoolKind::kLast}) {
      for (const bool is_normalised : {false, true}) {
        std::vector<double> truth(num_texts * width);
        for (int64_t text = 0; text < num_texts; ++text) {
          const int64_t first = kind == PoolKind::kLast ? start[text + 1] - 1 : start[text];
          const int64_t end = kind == PoolKind::kFirst ? first + 1 : start[text + 1];
          double squares = 0;
          for (int64_t c = 0; c < width; ++c) {
            double& mean = truth[text * width + c];
            for (int64_t row = first; row < end; ++row)
              mean += rows[row * width + c] / static_cast<double>(end - first);
            squares += mean * mean;
          }
          if (!is_normalised || squares == 0) continue;
          for (int64_t c = 0; c < width; ++c) truth[text * width + c] /= std::sqrt(squares);
        }
        with_each_order([&] {
          std::vector<float> out = poison<float>(num_texts * width);
          EXPECT(pool_texts({out.data(), rows.data(), start.data(), num_texts, width, kind, is_normalised}, nullptr) ==
                 nullptr);
          EXPECT(relative_error(out, truth) < 1e-6);
        });
      }
    }
  }
}
