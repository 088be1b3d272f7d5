// What does a product of bf16 with f32 sums cost, against ATen's (oneDNN), whose result is bf16?
//
// Build: cmake -DSEEKRL_BENCH=ON ...; run with the libtorch lib folder in LD_LIBRARY_PATH. Argument: threads. Sizes are
// those of Qwen2.5-0.5B's projections; both sides' best of 25.
#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/randn.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "ops/products/bf16_matmul.h"

using namespace seekrl;

namespace {

template <class Body>
double best_ms(const Body& body) {
  double best = 1e9;
  for (int i = 0; i < 25; ++i) {
    const auto start = std::chrono::steady_clock::now();
    body();
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() * 1e3);
  }
  return best;
}

void compare(int64_t m, int64_t n, int64_t k, int num_helpers) {
  const at::Tensor x = at::randn({m, k}).to(at::kBFloat16), weight = at::randn({n, k}).to(at::kBFloat16);
  const at::Tensor y = at::empty({m, n});
  const double ours = best_ms([&] {
    ops::bf16_linear(y.mutable_data_ptr<float>(), n, ops::rows_of(x, k), ops::bits_of(weight), n, nullptr,
                     ops::Activation::kNone, num_helpers);
  });
  const double aten = best_ms([&] { at::linear(x, weight); });
  const double gflop = 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k) / 1e6;
  std::printf("%5ld x %5ld x %5ld  ours %8.3f ms, %5.0f GFLOP/s; ATen %8.3f ms, %5.0f; ratio %.2f\n",
              static_cast<long>(m), static_cast<long>(n), static_cast<long>(k), ours, gflop / ours, aten, gflop / aten,
              aten / ours);
}

}  // namespace

int main(int argc, char** argv) {
  const int num_threads = argc > 1 ? std::atoi(argv[1]) : 1;
  at::NoGradGuard no_grad;
  at::set_num_threads(num_threads);
  for (const int64_t m : {64, 512, 2048}) {
    compare(m, 896, 896, num_threads - 1);
    compare(m, 4864, 896, num_threads - 1);
    compare(m, 896, 4864, num_threads - 1);
  }
}
