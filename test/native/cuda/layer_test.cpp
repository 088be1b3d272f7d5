// Norms, gates and rotations of a layer against f64, their gradients against differences.
#include <cmath>
#include <cstdint>
#include <vector>

#include "card.h"
#include "kernels/cuda/layer/norm.h"
#include "kernels/cuda/layer/rotate.h"

using namespace seekrl;
using namespace seekrl::cuda;
using namespace seekrl::test;

namespace {

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
    std::vector<float> residual = before, scale = poison<float>(rows);
    std::vector<Number> out = poison<Number>(rows * width);
    EXPECT(add_norm({out.data(), residual.data(), added.data(), weight.data(), scale.data(), rows, width, 1e-6f, offset,
                     kDtype<Number>},
                    nullptr) == nullptr);
    EXPECT(relative_error(out, truth) < tolerance);
    EXPECT(relative_error(residual, sums) < 1e-7);
    EXPECT(std::isfinite(scale[rows - 1]));
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

// The gradient of `of` by central differences.
template <class Of>
std::vector<double> differences(std::vector<double>& x, const Of& of) {
  std::vector<double> gradient(x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    const double at = x[i];
    x[i] = at + 1e-5;
    const double above = of();
    x[i] = at - 1e-5;
    gradient[i] = (above - of()) / 2e-5;
    x[i] = at;
  }
  return gradient;
}

double gate_value(Gate gate, double x) {
  if (gate == Gate::kSilu) return x / (1 + std::exp(-x));
  return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}

}  // namespace

TEST("a norm of a sum is that of f64, for widths that leave threads without work") {
  check_norm<Bf16>(3, 896, 0, 3e-3);
  check_norm<Bf16>(2, 8, 0, 3e-3);
  check_norm<Bf16>(1, 5120, 1, 3e-3);
  check_norm<F16>(2, 2304, 0, 4e-4);
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

TEST("gates and their gradients are those of f64") {
  const int64_t rows = 7, width = 40, stride = 96;
  for (const Gate gate : {Gate::kSilu, Gate::kGeluTanh}) {
    const auto both = normals<Bf16>(rows * stride, 1, 2), grad = normals<Bf16>(rows * width, 2);
    const Bf16* const up = both.data() + 48;
    std::vector<double> out(rows * width), gate_grad(rows * stride), up_grad(rows * stride);
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t c = 0; c < width; ++c) {
        const double g = value(both[r * stride + c]), u = value(up[r * stride + c]), d = value(grad[r * width + c]);
        out[r * width + c] = gate_value(gate, g) * u;
        up_grad[r * stride + c] = d * gate_value(gate, g);
        gate_grad[r * stride + c] = d * u * (gate_value(gate, g + 1e-5) - gate_value(gate, g - 1e-5)) / 2e-5;
      }
    }
    with_each_order([&] {
      std::vector<Bf16> product = poison<Bf16>(rows * width);
      EXPECT(gate_mul({product.data(), both.data(), up, rows, width, stride, gate, Dtype::kBf16}, nullptr) == nullptr);
      EXPECT(relative_error(product, out) < 3e-3);
      std::vector<Bf16> gate_back(rows * stride, Bf16{0}), up_back(rows * stride, Bf16{0});
      EXPECT(gate_mul_gradient({gate_back.data(), up_back.data(), grad.data(), both.data(), up, rows, width, stride,
                                gate, Dtype::kBf16},
                               nullptr) == nullptr);
      EXPECT(relative_error(gate_back, gate_grad) < 3e-3);
      EXPECT(relative_error(up_back, up_grad) < 3e-3);
    });
  }
}

TEST("heads get their bias, norm and rotation, and keys and values their place") {
  const int64_t tokens = 5, heads = 3, kv_heads = 1, block_tokens = 16;
  for (const auto& [width, half] : {std::pair<int64_t, int64_t>{64, 32}, {80, 40}, {96, 36}, {128, 0}, {256, 128}}) {
    const int64_t stride = (heads + 2 * kv_heads) * width;
    const auto projected = normals<Bf16>(tokens * stride, 1), bias = normals<Bf16>(heads * width, 2);
    const auto norm = normals<Bf16>(width, 3);
    const int64_t num_positions = 40;
    std::vector<float> cos(num_positions * half), sin(num_positions * half);
    for (int64_t i = 0; i < num_positions * half; ++i) {
      cos[i] = static_cast<float>(std::cos(0.1 * static_cast<double>(i)));
      sin[i] = static_cast<float>(std::sin(0.1 * static_cast<double>(i)));
    }
    const std::vector<int32_t> slots = {33, -1, 16, 47, 0}, positions = {7, 39, 0, 12, 3};
    const auto head_of = [&](int64_t token, int64_t head, bool has_norm) {
      std::vector<double> x(width), y(width);
      double squares = 0;
      for (int64_t c = 0; c < width; ++c) {
        x[c] = value(projected[token * stride + head * width + c]);
        if (head < heads) x[c] += value(bias[head * width + c]);
        squares += x[c] * x[c];
      }
      const double scale = has_norm ? 1 / std::sqrt(squares / static_cast<double>(width) + 1e-6) : 1;
      for (int64_t c = 0; c < width; ++c) x[c] *= has_norm ? scale * value(norm[c]) : 1;
      if (!has_norm) return x;
      for (int64_t c = 0; c < width; ++c) {
        const int64_t f = c % std::max<int64_t>(half, 1), at = positions[token] * half + f;
        const double partner = c < half ? -x[c + half] : c < 2 * half ? x[c - half] : 0;
        y[c] = c < 2 * half ? x[c] * cos[at] + partner * sin[at] : x[c];
      }
      return y;
    };
    with_each_order([&] {
      std::vector<Bf16> data = projected, keys = poison<Bf16>(3 * block_tokens * width), values = keys;
      Bf16* const start = data.data();
      const RotateAndWrite call{.query = {start, stride, bias.data(), norm.data()},
                                .key = {start + heads * width, stride, nullptr, norm.data()},
                                .value = {start + (heads + kv_heads) * width, stride, nullptr, nullptr},
                                .keys = keys.data(),
                                .values = values.data(),
                                .slots_T = slots.data(),
                                .positions_T = positions.data(),
                                .cos_PF = cos.data(),
                                .sin_PF = sin.data(),
                                .num_tokens = tokens,
                                .num_heads = heads,
                                .num_kv_heads = kv_heads,
                                .head_dim = width,
                                .num_frequencies = half,
                                .block_tokens = block_tokens,
                                .norm_epsilon = 1e-6f,
                                .norm_offset = 0,
                                .dtype = Dtype::kBf16};
      EXPECT(rotate_and_write(call, nullptr) == nullptr);
      for (int64_t token = 0; token < tokens; ++token) {
        for (int64_t head = 0; head < heads + 2 * kv_heads; ++head) {
          const std::vector<double> truth = head_of(token, head, head < heads + kv_heads);
          const Bf16* from = start + token * stride + head * width;
          if (head >= heads) {
            if (slots[token] < 0) continue;
            from = (head == heads ? keys : values).data() + slots[token] * width;
          }
          EXPECT(relative_error(std::vector<Bf16>(from, from + width), truth) < 4e-3);
        }
      }
      EXPECT(std::isnan(value(keys[1 * width])));  // no token's place
    });
  }
}
