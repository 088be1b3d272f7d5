// What tests of kernels share: random numbers of 16 bits, each order of threads, and errors against f64.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "base/random.h"
#include "check.h"
#include "emulator/launch.h"
#include "kernels/cuda/number.h"
#include "kernels/cuda/status.h"

namespace seekrl::test {

// Races are the same in fewer and shorter rows.
#if defined(__SANITIZE_THREAD__)
constexpr bool kIsRaceTest = true;
#else
constexpr bool kIsRaceTest = false;
#endif

// Standard normals times `scale`; another row of numbers for each stream.
template <class Number>
std::vector<Number> normals(int64_t count, uint64_t stream, float scale = 1) {
  std::vector<Number> numbers(count);
  for (int64_t i = 0; i < count; ++i) {
    numbers[i] = cuda::from_float<Number>(scale * static_cast<float>(normal_pair(7, stream, i).first));
  }
  return numbers;
}

// What nothing may leave as it is, and nothing may read.
template <class Number>
std::vector<Number> poison(int64_t count) {
  return std::vector<Number>(count, cuda::from_float<Number>(NAN));
}

template <class Number>
double value(Number x) {
  return cuda::to_float(x);
}

template <class Number>
std::vector<double> doubles(const std::vector<Number>& numbers) {
  std::vector<double> values;
  for (const Number each : numbers) values.push_back(value(each));
  return values;
}

template <class Number>
constexpr cuda::Dtype kDtype = std::is_same_v<Number, cuda::Bf16> ? cuda::Dtype::kBf16 : cuda::Dtype::kF16;

// Of the root mean squares of the difference and the truth; NaN is infinitely far.
template <class Number>
double relative_error(const std::vector<Number>& actual, const std::vector<double>& truth) {
  double error = 0, size = 0;
  for (size_t i = 0; i < truth.size(); ++i) {
    error += (value(actual[i]) - truth[i]) * (value(actual[i]) - truth[i]);
    size += truth[i] * truth[i];
  }
  return std::isnan(error) ? INFINITY : std::sqrt(error / size);
}

// The gradient of `of` by central differences.
template <class Of>
std::vector<double> differences(std::vector<double>& x, const Of& of, double step = 1e-5) {
  std::vector<double> gradient;
  for (double& each : x) {
    const double at = each;
    each = at + step;
    const double above = of();
    each = at - step;
    gradient.push_back((above - of()) / (2 * step));
    each = at;
  }
  return gradient;
}

// Runs `body` with the threads in three orders; races do not depend on it.
template <class Body>
void with_each_order(const Body& body) {
  const std::vector<uint64_t> orders = kIsRaceTest ? std::vector<uint64_t>{1} : std::vector<uint64_t>{0, 1, 2};
  for (const uint64_t order : orders) {
    emulator::thread_order = order;
    body();
  }
  emulator::thread_order = 0;
}

}  // namespace seekrl::test
