// One launch for all parameters that decay alike.
#include "ops/gpu/adamw.h"

#include <ATen/core/Tensor.h>

#include <map>

#include "ops/adamw_slices.h"
#include "ops/gpu/gpu.h"
#include "ops/gpu/transfer.h"

namespace seekrl::ops {

namespace {

// What stands in lists that were copied to the GPU, from a place on.
template <class Value>
const Value* as(const at::Tensor& lists, size_t place = 0) {
  return reinterpret_cast<const Value*>(lists.const_data_ptr<uint8_t>() + place);
}

// Both maps, the signed one first. Kept as long as the process: a GPU's memory may go before its tensors do.
const kernels::DynamicMap* maps_on(at::Device device) {
  static auto* const of_devices = new std::map<at::DeviceIndex, at::Tensor>;
  at::Tensor& maps = (*of_devices)[device.index()];
  if (!maps.defined()) {
    StagedLists both;
    both.add(std::vector<kernels::DynamicMap>{kernels::signed_map(), kernels::unsigned_map()});
    maps = both.copy_to_gpu(device);
  }
  return as<kernels::DynamicMap>(maps);
}

// What a kernel goes through, on its way to the GPU.
struct Slices {
  at::Tensor lists;
  size_t first_block_at;
  int64_t num_slices, num_blocks;

  const kernels::AdamWSlice* slices_S() const { return as<kernels::AdamWSlice>(lists); }
  const int64_t* first_block_S() const { return as<int64_t>(lists, first_block_at); }
};
Slices sent_slices(const std::vector<kernels::AdamWSlice>& slices, at::Device device) {
  std::vector<int64_t> first_block = {0};
  for (const kernels::AdamWSlice& slice : slices) first_block.push_back(first_block.back() + num_blocks(slice.n));
  StagedLists lists;
  lists.add(slices);
  const size_t first_block_at = lists.add(first_block);
  return {lists.copy_to_gpu(device), first_block_at, std::ssize(slices), first_block.back()};
}

// Those of the parameters whose numbers are listed.
void step(const std::vector<TrainedParameter>& parameters, const std::vector<size_t>& places, const AdamWRates& rates) {
  const TrainedParameter& any = parameters[places.front()];
  std::vector<kernels::AdamWSlice> slices;
  for (const size_t place : places) {
    slices.push_back(slice_of(parameters[place], 0, parameters[place].value.numel()));
    slices.back().seed = static_cast<uint64_t>(rates.num_steps);
  }
  const Slices sent = sent_slices(slices, any.value.device());
  const kernels::DynamicMap* const maps = any.first.scales.defined() ? maps_on(any.value.device()) : nullptr;
  const cuda::AdamWCall call = {.slices_S = sent.slices_S(),
                                .first_block_S = sent.first_block_S(),
                                .num_slices = sent.num_slices,
                                .num_blocks = sent.num_blocks,
                                .signed_map = maps,
                                .unsigned_map = maps == nullptr ? nullptr : maps + 1,
                                .step = step_of(rates, any.weight_decay),
                                .squared_norm = nullptr,
                                .max_norm = 0};
  require_launched(gpu().adamw(call, stream_of(any.value)));
}

}  // namespace

void gpu_adamw(const std::vector<TrainedParameter>& parameters, const AdamWRates& rates) {
  std::map<double, std::vector<size_t>> places_of;  // by their decay
  for (size_t i = 0; i < parameters.size(); ++i) places_of[parameters[i].weight_decay].push_back(i);
  for (const auto& [decay, places] : places_of) step(parameters, places, rates);
}

at::Tensor gpu_squared_norm(const std::vector<TrainedParameter>& parameters, at::Device device) {
  std::vector<kernels::AdamWSlice> slices;
  for (const TrainedParameter& each : parameters) slices.push_back(slice_of(each, 0, each.value.numel()));
  const Slices sent = sent_slices(slices, device);
  at::Tensor sum = empty_list(1, at::kDouble, device);
  const at::Tensor scratch = empty_list(cuda::kSquareGroups, at::kDouble, device);
  require_launched(gpu().squared_norm(sum.mutable_data_ptr<double>(), scratch.mutable_data_ptr<double>(),
                                      sent.slices_S(), sent.first_block_S(), sent.num_slices, sent.num_blocks,
                                      stream_of(sum)));
  return sum;
}

}  // namespace seekrl::ops
