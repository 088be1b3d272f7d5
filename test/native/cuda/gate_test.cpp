// Gates of a layer and their gradients against f64.
#include "kernels/cuda/layer/gate.h"

#include <cmath>
#include <cstdint>
#include <vector>

#include "gpu.h"

using namespace seekrl;
using namespace seekrl::cuda;
using namespace seekrl::test;

namespace {

double gate_value(Gate gate, double x) {
  if (gate == Gate::kSilu) return x / (1 + std::exp(-x));
  return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}

template <class Number>
void check_gates(double tolerance) {
  const int64_t rows = 7, width = 40, stride = 96;
  for (const Gate gate : {Gate::kSilu, Gate::kGeluTanh}) {
    const auto both = normals<Number>(rows * stride, 1, 2), grad = normals<Number>(rows * width, 2);
    const Number* const up = both.data() + 48;
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
      std::vector<Number> product = poison<Number>(rows * width);
      EXPECT(gate_mul({product.data(), both.data(), up, rows, width, stride, gate, kDtype<Number>}, nullptr) ==
             nullptr);
      EXPECT(relative_error(product, out) < tolerance);
      std::vector<Number> gate_back(rows * stride, Number{0}), up_back(rows * stride, Number{0});
      EXPECT(gate_mul_gradient({gate_back.data(), up_back.data(), grad.data(), both.data(), up, rows, width, stride,
                                gate, kDtype<Number>},
                               nullptr) == nullptr);
      EXPECT(relative_error(gate_back, gate_grad) < tolerance);
      EXPECT(relative_error(up_back, up_grad) < tolerance);
    });
  }
}

}  // namespace

TEST("gates and their gradients are those of f64") {
  check_gates<Bf16>(3e-3);
  check_gates<F16>(4e-4);
}
