// Sums of blocks on the CPU, added in their order; ATen's reduction elsewhere.
#include "ops/norm.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/linalg_vector_norm.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "ops/kernel_path.h"
#include "ops/parallel.h"

namespace seekrl::ops {

namespace {

constexpr int64_t kBlock = 65536;
constexpr int64_t kLanes = 8;

double sum_of_squares(const float* x, int64_t size) {
  double sums[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= size; i += kLanes) {
    for (int64_t lane = 0; lane < kLanes; ++lane) sums[lane] += static_cast<double>(x[i + lane]) * x[i + lane];
  }
  for (; i < size; ++i) sums[0] += static_cast<double>(x[i]) * x[i];
  return std::accumulate(sums, sums + kLanes, 0.0);
}

}  // namespace

double norm(const at::Tensor& x) {
  if (!is_cpu_f32(x)) return at::linalg_vector_norm(x, 2, std::nullopt, false, at::kDouble).item<double>();
  const float* data = x.const_data_ptr<float>();
  const int64_t size = x.numel(), num_blocks = (size + kBlock - 1) / kBlock;
  std::vector<double> sums(static_cast<size_t>(num_blocks));
  claim_items(num_blocks, size, [&](int64_t block) {
    sums[block] = sum_of_squares(data + block * kBlock, std::min(kBlock, size - block * kBlock));
  });
  return std::sqrt(std::accumulate(sums.begin(), sums.end(), 0.0));
}

}  // namespace seekrl::ops
