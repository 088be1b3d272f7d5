// Gradients of heads between projections and attention against differences.
#include <cmath>
#include <cstdint>
#include <vector>

#include "gpu.h"
#include "projections.h"

using namespace seekrl;
using namespace seekrl::cuda;
using namespace seekrl::test;

namespace {

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

TEST("gradients of projections, biases and norms are the differences of what they become") {
  check_gradient<Bf16>({3, 2, 1, 64, 32, true, true}, 3e-3);
  check_gradient<Bf16>({5, 3, 2, 80, 40, true, false}, 3e-3);
  if (kIsRaceTest) return;
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
