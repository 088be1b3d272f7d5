// Heads between projections and attention against f64, their gradients against differences.
#include "kernels/cuda/layer/rotate.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "card.h"

using namespace seekrl;
using namespace seekrl::cuda;
using namespace seekrl::test;

namespace {

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
      positions.push_back(static_cast<int32_t>((7 * t + 3) % kNumPositions));
      for (int64_t i = stride - 6; i < stride; ++i) data[t * stride + i] = from_float<Number>(NAN);
    }
    for (int64_t i = 0; i < kNumPositions * shape.half; ++i) {
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
            .rotary = {positions.data(), cos.data(), sin.data(), shape.half},
            .num_tokens = shape.tokens,
            .num_heads = shape.heads,
            .num_kv_heads = shape.kv_heads,
            .head_dim = shape.width,
            .block_tokens = 0,
            .norm_epsilon = static_cast<float>(kEpsilon),
            .norm_offset = shape.offset,
            .dtype = kDtype<Number>};
  }

  static constexpr int64_t kNumPositions = 40;
  Shape shape;
  int64_t stride;
  std::vector<Number> data, bias, norms;
  std::vector<int32_t> positions;
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
    const double cos = of.cos[of.positions[token] * half + f], sin = of.sin[of.positions[token] * half + f];
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

template <class Number>
void check_in_place(const Shape& shape, double tolerance) {
  const Projections<Number> of(shape);
  const Doubles truth = rotated(of);
  with_each_order([&] {
    std::vector<Number> data = of.data;
    EXPECT(rotate(of.call(data), nullptr) == nullptr);
    EXPECT(relative_error(dense(of, data), truth) < tolerance);
  });
}

struct GradientTruth {
  Doubles projected, bias, norms;
};

// Of the sum of all rotated numbers times theirs in `grads`.
template <class Number>
GradientTruth gradient(const Projections<Number>& of, const Doubles& grads) {
  const Shape& shape = of.shape;
  const int64_t width = shape.width;
  GradientTruth truth{{}, Doubles(shape.all_heads() * width), {}};
  Doubles norms = doubles(of.norms);
  const auto sum_of = [&](int64_t token, int64_t head, const Doubles& x) {
    const Doubles y = rotated(of, token, head, x, norms);
    double sum = 0;
    for (int64_t c = 0; c < width; ++c) sum += y[c] * grads[(token * shape.all_heads() + head) * width + c];
    return sum;
  };
  for (int64_t token = 0; token < shape.tokens; ++token) {
    for (int64_t head = 0; head < shape.all_heads(); ++head) {
      Doubles x = biased(of, token, head);
      const Doubles own = differences(x, [&] { return sum_of(token, head, x); });
      for (int64_t c = 0; c < width; ++c) truth.bias[head * width + c] += own[c];
      truth.projected.insert(truth.projected.end(), own.begin(), own.end());
    }
  }
  truth.norms = differences(norms, [&] {
    double sum = 0;
    for (int64_t token = 0; token < shape.tokens && shape.has_norm; ++token) {
      for (int64_t head = 0; head < shape.heads + shape.kv_heads; ++head) {
        sum += sum_of(token, head, biased(of, token, head));
      }
    }
    return sum;
  });
  return truth;
}

template <class Number>
void check_gradient(const Shape& shape, double tolerance) {
  const Projections<Number> of(shape);
  const int64_t width = shape.width, stride = of.stride;
  std::vector<Number> grads = normals<Number>(shape.tokens * stride, 4);
  for (int64_t i = 0; i < shape.tokens * stride; ++i) {
    if (i % stride >= shape.all_heads() * width) grads[i] = from_float<Number>(NAN);
  }
  const GradientTruth truth = gradient(of, doubles(dense(of, grads)));
  std::vector<float> first_bias, first_norms;
  with_each_order([&] {
    std::vector<Number> data = of.data, back = grads;
    std::vector<float> bias(shape.all_heads() * width, 1), norms(2 * width, 1);
    auto scratch = poison<float>(rotate_gradient_scratch_floats(shape.heads, shape.kv_heads, width));
    const auto part = [&](int64_t first_head, float* norm) {
      const int64_t at = first_head * width;
      return HeadGradients{back.data() + at, stride, back.data() + at, bias.data() + at,
                           shape.has_norm ? norm : nullptr};
    };
    EXPECT(rotate_gradient({of.call(data), part(0, norms.data()), part(shape.heads, norms.data() + width),
                            part(shape.heads + shape.kv_heads, nullptr), scratch.data()},
                           nullptr) == nullptr);
    EXPECT(relative_error(dense(of, back), truth.projected) < tolerance);
    if (first_bias.empty()) first_bias = bias, first_norms = norms;
    EXPECT(bias == first_bias && norms == first_norms);
    for (float& each : bias) each -= 1;
    for (float& each : norms) each -= 1;
    EXPECT(relative_error(bias, truth.bias) < 1e-5);
    EXPECT(!shape.has_norm || relative_error(norms, truth.norms) < 1e-5);
  });
}

}  // namespace

TEST("heads get their bias, norm and rotation, and keys and values their place in the blocks") {
  const int64_t block_tokens = 16;
  for (const auto& [width, half] : {std::pair<int64_t, int64_t>{64, 32}, {80, 40}, {96, 36}, {128, 0}, {256, 128}}) {
    const Shape shape{5, 3, 2, width, half, true, true};
    const Projections<Bf16> of(shape);
    const Doubles truth = rotated(of);
    const std::vector<int32_t> slots = {33, -1, 16, 47, 0};
    with_each_order([&] {
      std::vector<Bf16> data = of.data, keys = poison<Bf16>(3 * shape.kv_heads * block_tokens * width), values = keys;
      Rotate call = of.call(data);
      call.keys = keys.data();
      call.values = values.data();
      call.slots_T = slots.data();
      call.block_tokens = block_tokens;
      EXPECT(rotate(call, nullptr) == nullptr);
      for (int64_t token = 0; token < shape.tokens; ++token) {
        for (int64_t head = 0; head < shape.all_heads(); ++head) {
          const Bf16* from = data.data() + token * of.stride + head * width;
          if (head >= shape.heads) {
            if (slots[token] < 0) continue;
            const int64_t kv_head = (head - shape.heads) % shape.kv_heads;
            const int64_t block = slots[token] / block_tokens * shape.kv_heads + kv_head;
            from = (head < shape.heads + shape.kv_heads ? keys : values).data() +
                   (block * block_tokens + slots[token] % block_tokens) * width;
          }
          const auto expected = truth.begin() + (token * shape.all_heads() + head) * width;
          EXPECT(relative_error(std::vector<Bf16>(from, from + width), {expected, expected + width}) < 4e-3);
        }
      }
      EXPECT(std::isnan(value(keys[1 * width])));  // no token's place
    });
  }
}

TEST("without blocks, keys are rotated and values get their bias where they are, as training needs them") {
  check_in_place<Bf16>({5, 3, 2, 64, 32, true, true}, 4e-3);
  check_in_place<Bf16>({3, 2, 1, 80, 40, true, false}, 4e-3);
  check_in_place<F16>({7, 4, 4, 96, 36, false, true, 1}, 5e-4);
  check_in_place<F16>({2, 1, 1, 256, 128, false, false}, 5e-4);
  check_in_place<Bf16>({3, 2, 1, 128, 0, true, false}, 4e-3);
}

TEST("gradients of projections, biases and norms are the differences of what they become") {
  check_gradient<Bf16>({3, 2, 1, 64, 32, true, true}, 3e-3);
  check_gradient<Bf16>({5, 3, 2, 80, 40, true, false}, 3e-3);
  check_gradient<F16>({3, 2, 2, 96, 36, false, true, 1}, 4e-4);
  check_gradient<F16>({1, 2, 1, 256, 128, true, true}, 4e-4);
  check_gradient<Bf16>({3, 2, 1, 128, 0, true, true}, 3e-3);
}

TEST("gradients of many tokens are summed in one order, whatever the threads'") {
  check_gradient<Bf16>({kRotateGroups * 5 - 3, kIsRaceTest ? 1 : 9, 1, 34, 16, true, true}, 3e-3);
}

TEST("gradients of heads go where the projections' shall lie, and sums that nobody wants need no room") {
  const Shape shape{3, 2, 1, 64, 32, true, true};
  const Projections<Bf16> of(shape);
  const int64_t all = shape.all_heads() * shape.width;
  const auto grads = normals<Bf16>(shape.tokens * all, 4);
  const GradientTruth truth = gradient(of, doubles(grads));
  std::vector<Bf16> data = of.data, back = poison<Bf16>(shape.tokens * of.stride);
  const auto part = [&](int64_t first_head) {
    const int64_t at = first_head * shape.width;
    return HeadGradients{grads.data() + at, all, back.data() + at, nullptr, nullptr};
  };
  RotateGradient call{of.call(data), part(0), part(2), part(3), nullptr};
  EXPECT(rotate_gradient(call, nullptr) == nullptr);
  EXPECT(relative_error(dense(of, back), truth.projected) < 3e-3);
  float norm[64];
  call.value.norm = norm;
  EXPECT(rotate_gradient(call, nullptr) != nullptr);
}
