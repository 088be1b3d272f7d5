// Pointers into a parameter's tensors.
#include "ops/adamw_slices.h"

#include <ATen/core/Tensor.h>

#include <cmath>

namespace seekrl::ops {

namespace {

kernels::Moment moment_of(const Moment& moment, int64_t first) {
  if (!moment.scales.defined()) return {moment.values.mutable_data_ptr<float>() + first, nullptr, nullptr};
  return {nullptr, moment.values.mutable_data_ptr<uint8_t>() + first,
          moment.scales.mutable_data_ptr<float>() + first / kernels::kMomentBlock};
}

}  // namespace

kernels::AdamWStep step_of(const AdamWRates& rates, double weight_decay) {
  const auto steps = static_cast<double>(rates.num_steps);
  return {static_cast<float>(1 - rates.learning_rate * weight_decay),
          static_cast<float>(1 - rates.beta1),
          static_cast<float>(rates.beta2),
          static_cast<float>(1 - rates.beta2),
          static_cast<float>(std::sqrt(1 - std::pow(rates.beta2, steps))),
          static_cast<float>(rates.epsilon),
          static_cast<float>(-(rates.learning_rate / (1 - std::pow(rates.beta1, steps)))),
          static_cast<float>(rates.gradient_divisor)};
}

kernels::AdamWSlice slice_of(const TrainedParameter& parameter, int64_t first, int64_t count) {
  kernels::AdamWSlice slice;
  slice.n = count;
  slice.offset = parameter.offset + first;
  slice.stream = static_cast<uint64_t>(parameter.stream);
  void* const values = parameter.value.mutable_data_ptr();
  if (parameter.value.scalar_type() == at::kFloat) {
    slice.weights = static_cast<float*>(values) + first;
  } else {
    slice.halves = static_cast<uint16_t*>(values) + first;
    slice.low = parameter.low.defined() ? parameter.low.mutable_data_ptr<int16_t>() + first : nullptr;
  }
  slice.gradients = parameter.gradient.mutable_data_ptr<float>() + first;
  slice.first = moment_of(parameter.first, first);
  slice.second = moment_of(parameter.second, first);
  return slice;
}

}  // namespace seekrl::ops
