// The gate as a composition of ATen ops.
#include "ops/silu_mul.h"

#include <ATen/ATen.h>

namespace seekrl::ops {

at::Tensor silu_mul(const at::Tensor& gate, const at::Tensor& up) { return at::silu(gate) * up; }

}  // namespace seekrl::ops
