// Our kernel for f32 on the CPU, ATen's ops elsewhere.
#include "ops/elementwise/softcap.h"

#include <ATen/core/Tensor.h>

#include <algorithm>

#include "kernels/rows.h"
#include "ops/kernel_path.h"
#include "ops/parallel.h"

namespace seekrl::ops {

void softcap_(const at::Tensor& x, double cap) {
  if (!is_cpu_f32(x) || !x.is_contiguous()) {
    x.div_(cap).tanh_().mul_(cap);
    return;
  }
  constexpr int64_t kBlock = 8192;
  float* data = x.mutable_data_ptr<float>();
  const int64_t size = x.numel();
  // A hyperbolic tangent costs about as much as 32 multiply-adds.
  claim_items((size + kBlock - 1) / kBlock, size * 32, [&](int64_t block) {
    kernels::softcap(data + block * kBlock, std::min(kBlock, size - block * kBlock), static_cast<float>(cap));
  });
}

}  // namespace seekrl::ops
