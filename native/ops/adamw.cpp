// One pass over each parameter.
#include "ops/adamw.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <memory>

#include "base/error.h"
#include "base/file_pages.h"
#include "base/pages.h"
#include "ops/adamw_slices.h"
#include "ops/gpu/adamw.h"
#include "ops/parallel.h"

namespace seekrl::ops {

namespace {

// Elements of one item of work.
constexpr int64_t kItem = 256 * kernels::kMomentBlock;

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
    kernels::adamw(slice, step_of(rates, parameter.weight_decay));
  });
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
  gpu_adamw(parameters, rates);
}

}  // namespace seekrl::ops
