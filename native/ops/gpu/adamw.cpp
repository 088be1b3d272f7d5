// One launch for all parameters that decay alike.
#include "ops/gpu/adamw.h"

#include <ATen/core/Tensor.h>

#include <map>

#include "ops/adamw_slices.h"
#include "ops/gpu/gpu.h"
#include "ops/gpu/transfer.h"

namespace seekrl::ops {

namespace {

// What stands in a parcel that was sent, from its place on.
template <class Value>
const Value* as(const at::Tensor& parcel, size_t place = 0) {
  return reinterpret_cast<const Value*>(parcel.const_data_ptr<uint8_t>() + place);
}

// Both maps, the signed one first. Kept as long as the process: a GPU's memory may go before its tensors do.
const kernels::DynamicMap* maps_on(at::Device device) {
  static auto* const of_devices = new std::map<at::DeviceIndex, at::Tensor>;
  at::Tensor& maps = (*of_devices)[device.index()];
  if (!maps.defined()) {
    Parcel both;
    both.add(std::vector<kernels::DynamicMap>{kernels::signed_map(), kernels::unsigned_map()});
    maps = both.sent(device);
  }
  return as<kernels::DynamicMap>(maps);
}

// Those of the parameters whose numbers are listed.
void step(const std::vector<TrainedParameter>& parameters, const std::vector<size_t>& places, const AdamWRates& rates) {
  const TrainedParameter& any = parameters[places.front()];
  std::vector<kernels::AdamWSlice> slices;
  std::vector<int64_t> first_block = {0};
  for (const size_t place : places) {
    const int64_t size = parameters[place].value.numel();
    slices.push_back(slice_of(parameters[place], 0, size));
    slices.back().seed = static_cast<uint64_t>(rates.num_steps);
    first_block.push_back(first_block.back() + num_blocks(size));
  }
  const at::Device device = any.value.device();
  Parcel parcel;
  const size_t slices_at = parcel.add(slices), blocks_at = parcel.add(first_block);
  const at::Tensor sent = parcel.sent(device);
  const kernels::DynamicMap* const maps = any.first.scales.defined() ? maps_on(device) : nullptr;
  const cuda::AdamWCall call = {.slices_S = as<kernels::AdamWSlice>(sent, slices_at),
                                .first_block_S = as<int64_t>(sent, blocks_at),
                                .num_slices = std::ssize(slices),
                                .num_blocks = first_block.back(),
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

}  // namespace seekrl::ops
