// Projections of heads for tests, and what becomes of them before attention, in f64.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "gpu.h"
#include "kernels/cuda/layer/rotate.h"

namespace seekrl::test {

using cuda::from_float;
using cuda::ProjectedHeads;
using cuda::Rotate;

using Doubles = std::vector<double>;

struct Shape {
  int64_t tokens, heads, kv_heads, width, half;
  bool has_bias, has_norm;
  float offset = 0;

  int64_t all_heads() const { return heads + 2 * kv_heads; }
};

constexpr double kEpsilon = 1e-6;

// Projections of one product, with numbers behind each token's that nothing may use, and the tables.
template <class Number>
struct Projections {
  explicit Projections(const Shape& shape_)
      : shape(shape_),
        stride(shape.all_heads() * shape.width + 6),
        data(normals<Number>(shape.tokens * stride, 1)),
        bias(normals<Number>(shape.all_heads() * shape.width, 2)),
        norms(normals<Number>(2 * shape.width, 3)) {
    for (int64_t t = 0; t < shape.tokens; ++t) {
      for (int64_t i = stride - 6; i < stride; ++i) data[t * stride + i] = from_float<Number>(NAN);
    }
    for (int64_t i = 0; i < shape.tokens * shape.half; ++i) {
      cos.push_back(static_cast<float>(std::cos(0.1 * static_cast<double>(i))));
      sin.push_back(static_cast<float>(std::sin(0.1 * static_cast<double>(i))));
    }
  }

  // Queries, keys and values as `rotate` is told of them.
  ProjectedHeads part(std::vector<Number>& of, int64_t first_head, const Number* norm) const {
    const int64_t at = first_head * shape.width;
    return {of.data() + at, stride, shape.has_bias ? bias.data() + at : nullptr, shape.has_norm ? norm : nullptr};
  }
  Rotate call(std::vector<Number>& of) const {
    return {.query = part(of, 0, norms.data()),
            .key = part(of, shape.heads, norms.data() + shape.width),
            .value = part(of, shape.heads + shape.kv_heads, nullptr),
            .keys = nullptr,
            .values = nullptr,
            .slots_T = nullptr,
            .rotary = {cos.data(), sin.data(), shape.half},
            .num_tokens = shape.tokens,
            .num_heads = shape.heads,
            .num_kv_heads = shape.kv_heads,
            .head_dim = shape.width,
            .block_tokens = 0,
            .norm_epsilon = static_cast<float>(kEpsilon),
            .norm_offset = shape.offset,
            .dtype = kDtype<Number>};
  }

  Shape shape;
  int64_t stride;
  std::vector<Number> data, bias, norms;
  std::vector<float> cos, sin;
};

// What becomes of a head by the formula.
template <class Number>
Doubles rotated(const Projections<Number>& of, int64_t token, int64_t head, Doubles x, const Doubles& norms) {
  const Shape& shape = of.shape;
  const int64_t width = shape.width, half = shape.half;
  if (head >= shape.heads + shape.kv_heads) return x;
  if (shape.has_norm) {
    double squares = 0;
    for (const double each : x) squares += each * each;
    const double scale = 1 / std::sqrt(squares / static_cast<double>(width) + kEpsilon);
    const double* weight = norms.data() + (head < shape.heads ? 0 : width);
    for (int64_t c = 0; c < width; ++c) x[c] *= scale * (weight[c] + shape.offset);
  }
  Doubles y = x;
  for (int64_t f = 0; f < half; ++f) {
    const double cos = of.cos[token * half + f], sin = of.sin[token * half + f];
    y[f] = x[f] * cos - x[f + half] * sin;
    y[f + half] = x[f + half] * cos + x[f] * sin;
  }
  return y;
}

template <class Number>
Doubles biased(const Projections<Number>& of, int64_t token, int64_t head) {
  const int64_t width = of.shape.width;
  Doubles x(width);
  for (int64_t c = 0; c < width; ++c) {
    x[c] = value(of.data[token * of.stride + head * width + c]);
    if (of.shape.has_bias) x[c] += value(of.bias[head * width + c]);
  }
  return x;
}

// All heads, laid out as the projections are.
template <class Number>
Doubles rotated(const Projections<Number>& of) {
  Doubles all;
  const Doubles norms = doubles(of.norms);
  for (int64_t token = 0; token < of.shape.tokens; ++token) {
    for (int64_t head = 0; head < of.shape.all_heads(); ++head) {
      const Doubles y = rotated(of, token, head, biased(of, token, head), norms);
      all.insert(all.end(), y.begin(), y.end());
    }
  }
  return all;
}

// Without what lies between tokens, which is as it was.
template <class Number>
std::vector<Number> dense(const Projections<Number>& of, const std::vector<Number>& strided) {
  std::vector<Number> all;
  const int64_t width = of.shape.all_heads() * of.shape.width;
  for (int64_t token = 0; token < of.shape.tokens; ++token) {
    const auto begin = strided.begin() + token * of.stride;
    all.insert(all.end(), begin, begin + width);
    for (int64_t i = width; i < of.stride; ++i) EXPECT(std::isnan(value(begin[i])));
  }
  return all;
}

}  // namespace seekrl::test
