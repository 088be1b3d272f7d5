// A layer's sums and norms against f64, their gradients against differences.
#include "kernels/cuda/layer/norm.h"

#include <cmath>
#include <cstdint>
#include <vector>

#include "gpu.h"

using namespace seekrl;
using namespace seekrl::cuda;
using namespace seekrl::test;

namespace {

// Of a call that has been made: the sum in the residual's place, the norm of what nothing is added to and of what is
// added by itself give the same bits.
template <class Number>
void check_other_forms(AddNorm call, const std::vector<Number>& out, const std::vector<float>& sum,
                       const std::vector<Number>& added) {
  const size_t count = out.size();
  std::vector<float> residual(call.residual_TD, call.residual_TD + count);
  std::vector<Number> in_place = poison<Number>(count), alone = in_place;
  call.out_TD = in_place.data();
  call.residual_TD = call.sum_TD = residual.data();
  EXPECT(add_norm(call, nullptr) == nullptr);
  call.out_TD = alone.data();
  call.sum_TD = nullptr;
  call.added_TD = nullptr;
  EXPECT(add_norm(call, nullptr) == nullptr);
  EXPECT(doubles(in_place) == doubles(out) && doubles(alone) == doubles(out) && residual == sum);
  std::vector<float> wide;
  for (const Number& each : added) wide.push_back(to_float(each));
  call.residual_TD = wide.data();
  EXPECT(add_norm(call, nullptr) == nullptr);
  std::vector<Number> narrow = poison<Number>(count);
  call.out_TD = narrow.data();
  call.residual_TD = nullptr;
  call.added_TD = added.data();
  EXPECT(add_norm(call, nullptr) == nullptr);
  EXPECT(doubles(narrow) == doubles(alone));
}

template <class Number>
void check_norm(int64_t rows, int64_t width, float offset, double tolerance) {
  const auto added = normals<Number>(rows * width, 1), weight = normals<Number>(width, 2);
  const auto before = normals<float>(rows * width, 3);
  std::vector<double> sums(rows * width), truth(rows * width);
  for (int64_t r = 0; r < rows; ++r) {
    double squares = 0;
    for (int64_t c = 0; c < width; ++c) {
      sums[r * width + c] = double{before[r * width + c]} + value(added[r * width + c]);
      squares += sums[r * width + c] * sums[r * width + c];
    }
    const double scale = 1 / std::sqrt(squares / static_cast<double>(width) + 1e-6);
    for (int64_t c = 0; c < width; ++c)
      truth[r * width + c] = sums[r * width + c] * scale * (value(weight[c]) + offset);
  }
  with_each_order([&] {
    std::vector<float> sum = poison<float>(rows * width), scale = poison<float>(rows);
    std::vector<Number> out = poison<Number>(rows * width);
    const AddNorm call = {out.data(), sum.data(), before.data(), added.data(), weight.data(), scale.data(),
                          rows,       width,      1e-6f,         offset,       kDtype<Number>};
    EXPECT(add_norm(call, nullptr) == nullptr);
    EXPECT(relative_error(out, truth) < tolerance);
    EXPECT(relative_error(sum, sums) < 1e-7);
    EXPECT(std::isfinite(scale[rows - 1]));
    check_other_forms(call, out, sum, added);
  });
}

// The sum of out times some numbers, in f64, as a function of the residual and the weight.
double normed_sum(const std::vector<double>& x, const std::vector<double>& weight, const std::vector<double>& factors) {
  const size_t width = weight.size();
  double sum = 0;
  for (size_t r = 0; r < x.size() / width; ++r) {
    double squares = 0;
    for (size_t c = 0; c < width; ++c) squares += x[r * width + c] * x[r * width + c];
    const double scale = 1 / std::sqrt(squares / static_cast<double>(width) + 1e-6);
    for (size_t c = 0; c < width; ++c) sum += x[r * width + c] * scale * weight[c] * factors[r * width + c];
  }
  return sum;
}

// What norm_gradient's header says, of rows as wide as a block's threads have one to eight parts of.
template <class Number>
void check_norm_gradient(int64_t rows, int64_t width) {
  const auto weight = normals<Number>(width, 1), grads = normals<Number>(rows * width, 2);
  const auto residual = normals<float>(rows * width, 3);
  std::vector<float> scale(rows);
  std::vector<double> x_truth(rows * width), w_truth(width);
  for (int64_t r = 0; r < rows; ++r) {
    const auto x = [&](int64_t c) { return double{residual[r * width + c]}; };
    const auto weighted = [&](int64_t c) { return value(weight[c]) * value(grads[r * width + c]); };
    double squares = 0, mean = 0;
    for (int64_t c = 0; c < width; ++c) squares += x(c) * x(c);
    scale[r] = static_cast<float>(1 / std::sqrt(squares / static_cast<double>(width) + 1e-6));
    const double s = scale[r];
    for (int64_t c = 0; c < width; ++c) mean += weighted(c) * x(c) / static_cast<double>(width);
    for (int64_t c = 0; c < width; ++c) {
      x_truth[r * width + c] = s * (weighted(c) - x(c) * s * s * mean);
      w_truth[c] += value(grads[r * width + c]) * x(c) * s;
    }
  }
  std::vector<float> x_grad(rows * width, 0), w_grad(width, 0);
  std::vector<float> scratch = poison<float>(norm_gradient_scratch_floats(width));
  EXPECT(norm_gradient({x_grad.data(), w_grad.data(), scratch.data(), grads.data(), residual.data(), scale.data(),
                        weight.data(), rows, width, 0, kDtype<Number>},
                       nullptr) == nullptr);
  EXPECT(relative_error(x_grad, x_truth) < 1e-5);
  EXPECT(relative_error(w_grad, w_truth) < 1e-5);
}

}  // namespace

TEST("a norm of a sum is that of f64, for widths that leave threads without work") {
  check_norm<Bf16>(3, 896, 0, 3e-3);
  check_norm<Bf16>(2, 8, 0, 3e-3);
  check_norm<Bf16>(1, 5120, 1, 3e-3);
  check_norm<F16>(2, 2304, 0, 4e-4);
  if (kIsRaceTest) return;
  for (const int64_t width : {2304, 8200}) check_norm<Bf16>(1, width, 0, 3e-3);
  for (const int64_t width : {8, 5120, 8200}) check_norm<F16>(1, width, 0, 4e-4);
}

TEST("a norm's gradients are its differences, whatever the order of threads") {
  const int64_t rows = 5, width = 24;
  const auto weight = normals<Bf16>(width, 1), factors = normals<Bf16>(rows * width, 2);
  const auto residual = normals<float>(rows * width, 3);
  std::vector<float> scale(rows);
  for (int64_t r = 0; r < rows; ++r) {
    double squares = 0;
    for (int64_t c = 0; c < width; ++c) squares += double{residual[r * width + c]} * residual[r * width + c];
    scale[r] = static_cast<float>(1 / std::sqrt(squares / width + 1e-6));
  }
  std::vector<double> x = doubles(residual), w = doubles(weight);
  const std::vector<double> f = doubles(factors);
  const auto sum = [&] { return normed_sum(x, w, f); };
  const std::vector<double> x_truth = differences(x, sum), w_truth = differences(w, sum);
  with_each_order([&] {
    std::vector<float> x_grad(rows * width, 0), w_grad(width, 0);
    std::vector<float> scratch = poison<float>(norm_gradient_scratch_floats(width));
    EXPECT(norm_gradient({x_grad.data(), w_grad.data(), scratch.data(), factors.data(), residual.data(), scale.data(),
                          weight.data(), rows, width, 0, Dtype::kBf16},
                         nullptr) == nullptr);
    EXPECT(relative_error(x_grad, x_truth) < 1e-5);
    EXPECT(relative_error(w_grad, w_truth) < 1e-5);
  });
}

TEST("gradients of wide rows through a norm are those of its formula in f64") {
  if (kIsRaceTest) return;
  for (const int64_t width : {2304, 5120, 8200}) check_norm_gradient<Bf16>(1, width);
  for (const int64_t width : {24, 2304, 5120, 8200}) check_norm_gradient<F16>(1, width);
}
