// The linear op: ATen's for every dtype and device.
#include "ops/linear.h"

#include <ATen/ops/linear.h>

namespace seekrl::ops {

at::Tensor linear(const at::Tensor& x_MK, const at::Tensor& weight_NK, const at::Tensor& bias_N) {
  if (!bias_N.defined()) return at::linear(x_MK, weight_NK);
  return at::linear(x_MK, weight_NK, bias_N);
}

}  // namespace seekrl::ops
