// The norm as a composition of ATen ops.
#include "ops/rms_norm.h"

#include <ATen/ATen.h>

namespace seekrl::ops {

at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& weight_D, double eps) {
  const at::Tensor wide = x.to(at::promote_types(x.scalar_type(), at::kFloat));
  const at::Tensor scale = at::rsqrt(wide.pow(2).mean(-1, true) + eps);
  return (wide * scale).to(x.scalar_type()) * weight_D;
}

}  // namespace seekrl::ops
