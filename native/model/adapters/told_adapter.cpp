// Rank 0 makes its own first: what is refused the others are never told of.
#include "model/adapters/told_adapter.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>

#include <utility>

#include "base/error.h"
#include "model/stored/stored_slice.h"
#include "model/weights.h"

namespace seekrl::model {

namespace {

std::shared_ptr<Adapter> told(std::shared_ptr<Adapter> adapter, const Command& command) {
  const TensorParallel& parallel = adapter->parallel();
  parallel.together([&] { return command; }, [] {});
  parallel.end_with(adapter, CommandWriter(Task::kEndAdapter).number(adapter->id()).take());
  return adapter;
}

void read_own(Adapter& adapter, std::vector<StoredTensor> stored) {
  for (StoredTensor& tensor : stored) tensor = stored_slice(tensor, adapter.slice_of(tensor.name));
  read_tensors(adapter.parameters(), stored, false, adapter.parallel());
  adapter.changed();
}

}  // namespace

std::shared_ptr<Adapter> open_adapter(const Decoder& decoder, AdapterOptions options, uint64_t seed) {
  auto adapter =
      std::make_shared<Adapter>(decoder.projections(), std::move(options), decoder.device(), seed, decoder.parallel());
  const AdapterOptions& own = adapter->options();
  const Command command = CommandWriter(Task::kOpenAdapter)
                              .number(adapter->id())
                              .number(own.rank)
                              .plain(own.alpha)
                              .number(own.is_rank_stabilised ? 1 : 0)
                              .texts(own.targets)
                              .plain(seed)
                              .take();
  return told(std::move(adapter), command);
}

std::shared_ptr<Adapter> copy_adapter(const Decoder& decoder, const Adapter& source) {
  std::shared_ptr<Adapter> copy = clone(source, decoder.projections());
  const Command command = CommandWriter(Task::kCopyAdapter).number(copy->id()).number(source.id()).take();
  return told(std::move(copy), command);
}

void read_adapter(Adapter& adapter, const std::vector<StoredTensor>& stored) {
  adapter.parallel().together(
      [&] { return CommandWriter(Task::kReadAdapter).number(adapter.id()).stored(stored).take(); },
      [&] { read_own(adapter, stored); });
}

void write_adapter(const Adapter& adapter, const std::string& path, const std::string& header) {
  write_tensors(adapter.parameters(), path, header, "F32",
                [&](size_t place) { return whole_parameter(adapter, place); });
}

at::Tensor whole_parameter(const Adapter& adapter, size_t place) {
  const auto& [name, own] = adapter.parameters().at(place);
  const Slice slice = adapter.slice_of(name);
  const at::NoGradGuard no_grad;
  at::Tensor whole;
  adapter.parallel().together(
      [&] {
        return CommandWriter(Task::kAdapterTensor).number(adapter.id()).number(static_cast<int64_t>(place)).take();
      },
      [&] { whole = adapter.parallel().joined(own, slice, name); });
  return whole;
}

at::Tensor whole_parameter(const Adapter& adapter, const std::string& name) {
  for (size_t i = 0; i < adapter.parameters().size(); ++i) {
    if (adapter.parameters()[i].name == name) return whole_parameter(adapter, i);
  }
  fail(ErrorCode::kArgument, "parameter: no tensor of the adapter is called ", name);
}

}  // namespace seekrl::model
