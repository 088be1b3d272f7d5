// Our kernel on the CPU, which passes over each parameter once; libtorch's fused kernel elsewhere.
#include "ops/adamw.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "base/error.h"
#include "base/file_pages.h"
#include "base/pages.h"
#include "kernels/adamw.h"
#include "ops/parallel.h"

namespace seekrl::ops {

namespace {

// Elements of one item of work.
constexpr int64_t kItem = 256 * kernels::kMomentBlock;

int64_t num_blocks(int64_t size) { return (size + kernels::kMomentBlock - 1) / kernels::kMomentBlock; }

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

kernels::Moment moment_of(const Moment& moment, int64_t first) {
  if (!moment.scales.defined()) return {moment.values.mutable_data_ptr<float>() + first, nullptr, nullptr};
  return {nullptr, moment.values.mutable_data_ptr<uint8_t>() + first,
          moment.scales.mutable_data_ptr<float>() + first / kernels::kMomentBlock};
}

// Elements [first, first + count) of a parameter.
kernels::AdamWSlice slice_of(const TrainedParameter& parameter, int64_t first, int64_t count) {
  kernels::AdamWSlice slice;
  slice.n = count;
  slice.offset = first;
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

void adamw_cpu(const std::vector<TrainedParameter>& parameters, const AdamWRates& rates) {
  struct Item {
    size_t parameter;
    int64_t first;
  };
  std::vector<Item> items;
  int64_t size = 0;
  for (size_t p = 0; p < parameters.size(); ++p) {
    const int64_t count = parameters[p].value.numel();
    for (int64_t first = 0; first < count; first += kItem) items.push_back({p, first});
    size += count;
  }
  claim_items(static_cast<int64_t>(items.size()), size * 8, [&](int64_t i) {
    const auto [p, first] = items[i];
    const TrainedParameter& parameter = parameters[p];
    auto slice = slice_of(parameter, first, std::min(kItem, parameter.value.numel() - first));
    slice.seed = static_cast<uint64_t>(rates.num_steps);
    slice.stream = p;
    kernels::adamw(slice, step_of(rates, parameter.weight_decay));
  });
}

// f32 weights whose bits are value * 2^16 + low.
at::Tensor joined(const TrainedParameter& parameter) {
  if (!parameter.low.defined()) return parameter.value.detach();
  const at::Tensor high = parameter.value.detach().view(at::kShort).to(at::kInt);
  return (high * 65536 + parameter.low.to(at::kInt)).view(at::kFloat);
}

void split(const TrainedParameter& parameter, const at::Tensor& weights) {
  if (!parameter.low.defined()) return;
  const at::Tensor bits = weights.view(at::kInt);
  parameter.value.detach().view(at::kShort).copy_((bits + 0x8000).bitwise_right_shift(16));
  parameter.low.copy_(bits);
}

void update_by_aten(const TrainedParameter& parameter, const AdamWRates& rates) {
  require(!parameter.first.scales.defined(), ErrorCode::kDevice,
          "AdamW: moments of 8 bits: expected a model on the CPU");
  require(parameter.value.scalar_type() == at::kFloat || parameter.low.defined(), ErrorCode::kDevice,
          "AdamW: rounding at random: expected a model on the CPU");
  const at::Tensor weights = joined(parameter);
  const auto scalar = [&](double value) { return at::full({}, value, parameter.gradient.options()); };
  at::_fused_adamw_({weights}, {parameter.gradient}, {parameter.first.values}, {parameter.second.values}, {},
                    {scalar(static_cast<double>(rates.num_steps))}, rates.learning_rate, rates.beta1, rates.beta2,
                    parameter.weight_decay, rates.epsilon, false, false, scalar(rates.gradient_divisor));
  split(parameter, weights);
  parameter.gradient.zero_();
}

at::Tensor state_in(const std::string& folder, at::IntArrayRef shape, at::Device device, at::ScalarType dtype) {
  require(device.is_cpu(), ErrorCode::kDevice, "AdamW: states in a file: expected a model on the CPU, got one on ",
          device);
  const auto num_bytes = static_cast<size_t>(c10::multiply_integers(shape)) * c10::elementSize(dtype);
  auto pages = std::make_shared<FilePages>(folder, num_bytes);
  void* const data = pages->data();
  return at::from_blob(data, shape, [pages](void*) {}, at::device(device).dtype(dtype));
}

}  // namespace

at::Tensor zero_state(at::IntArrayRef shape, at::Device device, at::ScalarType dtype, const std::string& folder) {
  if (!folder.empty()) return state_in(folder, shape, device, dtype);
  at::Tensor state = at::zeros(shape, at::device(device).dtype(dtype));
  if (device.is_cpu()) use_huge_pages(state.mutable_data_ptr(), state.nbytes());
  return state;
}

Moment zero_moment(at::IntArrayRef shape, at::Device device, bool has_8_bits, const std::string& folder) {
  if (!has_8_bits) return {zero_state(shape, device, at::kFloat, folder), {}};
  const at::Tensor codes = zero_state(shape, device, at::kByte, folder);
  return {codes, at::zeros({num_blocks(codes.numel())}, at::device(device).dtype(at::kFloat))};
}

void adamw(const std::vector<TrainedParameter>& parameters, const AdamWRates& rates) {
  if (parameters.front().value.is_cpu()) return adamw_cpu(parameters, rates);
  composition::adamw(parameters, rates);
}

void composition::adamw(const std::vector<TrainedParameter>& parameters, const AdamWRates& rates) {
  for (const TrainedParameter& parameter : parameters) update_by_aten(parameter, rates);
}

}  // namespace seekrl::ops
