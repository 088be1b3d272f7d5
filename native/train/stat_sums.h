// What a loss tells of its rows, summed over micro-batches on the device that computes them.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/ops/zeros.h>
#include <c10/util/Exception.h>

#include <cstdint>

#include "kernels/policy_rows.h"

namespace seekrl::train {

// Stats are doubles. Losses add to them, on a GPU in the order of the stream, and nobody waits for it before they are
// read. Device thread only.
template <class Stats>
class StatSums {
 public:
  // f64, one number a field of Stats; zeros at first. All micro-batches are on one device.
  const at::Tensor& on(at::Device device) {
    if (!sums_.defined()) sums_ = at::zeros({kCount}, at::device(device).dtype(at::kDouble));
    TORCH_INTERNAL_ASSERT(sums_.device() == device);
    return sums_;
  }
  Stats& at(at::Device device) { return *static_cast<Stats*>(on(device).mutable_data_ptr()); }

  Stats read() const {
    return sums_.defined() ? *static_cast<const Stats*>(sums_.to(at::kCPU).const_data_ptr()) : Stats();
  }

 private:
  static constexpr auto kCount = static_cast<int64_t>(sizeof(Stats) / sizeof(double));

  at::Tensor sums_;  // undefined before the first micro-batch
};

using LossSums = StatSums<kernels::LossStats>;
using ValueSums = StatSums<kernels::ValueStats>;

}  // namespace seekrl::train
