// Rotation as a composition of ATen ops, computed in f32.
#include "ops/rope.h"

#include <ATen/ATen.h>

namespace seekrl::ops {

at::Tensor rope(const at::Tensor& x_THC, const at::Tensor& cos_TF, const at::Tensor& sin_TF) {
  const int64_t half = x_THC.size(2) / 2;
  const at::Tensor cos = cos_TF.unsqueeze(1), sin = sin_TF.unsqueeze(1);
  const at::Tensor low = x_THC.narrow(2, 0, half), high = x_THC.narrow(2, half, half);
  return at::cat({low * cos - high * sin, high * cos + low * sin}, 2).to(x_THC.scalar_type());
}

}  // namespace seekrl::ops
