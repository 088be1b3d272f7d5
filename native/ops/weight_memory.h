// Memory of weights, all of which is read for each token: from huge pages, which spare the processor look-ups of
// addresses.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>

#include "base/pages.h"

namespace seekrl::ops {

// Asks before the memory is touched: pages that are there stay small.
inline at::Tensor zero_weight(at::IntArrayRef shape, const at::TensorOptions& options) {
  at::Tensor weight = at::empty(shape, options);
  if (weight.is_cpu()) use_huge_pages(weight.mutable_data_ptr(), weight.nbytes());
  return weight.zero_();
}

}  // namespace seekrl::ops
