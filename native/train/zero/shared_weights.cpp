// Parameters whose memory comes and goes while the tensors, and what autograd keeps of them, stay.
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <utility>

#include "base/idle_memory.h"
#include "model/stored/parameter_memory.h"
#include "train/zero/returned_memory.h"
#include "train/zero/weights.h"

namespace seekrl::train {

using model::free_memory;
using model::has_memory;
using model::set_memory;

SharedWeights::SharedWeights(const std::vector<model::Parameter>& parameters, const Layout& layout,
                             std::shared_ptr<comm::ProcessGroup> group)
    : parameters_(parameters), layout_(layout), group_(std::move(group)), shares_(layout.units().size()) {
  const auto options = parameters.front().value.options().requires_grad(false);
  for (const Unit& unit : layout_.units()) share_of(unit).own = at::zeros({unit.part}, options);
  const auto is_there = [](const model::Parameter& parameter) { return has_memory(parameter.value); };
  if (!std::all_of(parameters_.begin(), parameters_.end(), is_there)) scatter();
}

at::Tensor SharedWeights::own(const Piece& piece) const {
  for (size_t u = 0; u < shares_.size(); ++u) {
    const Unit& unit = layout_.units()[u];
    const int64_t place = piece.place - unit.begin - group_->rank() * unit.part;
    if (piece.place < unit.begin + unit.part * layout_.num_ranks()) {
      return shares_[u].own.narrow(0, place, piece.count);
    }
  }
  TORCH_INTERNAL_ASSERT(false);
}

void SharedWeights::keep_own(const Unit& unit, Share& share) {
  const int rank = group_->rank();
  for (const Piece& piece : layout_.pieces(unit, rank)) {
    if (!has_memory(parameters_[piece.parameter].value)) continue;
    const at::Tensor flat = parameters_[piece.parameter].value.detach().view({-1});
    share.own.narrow(0, piece.place - unit.begin - rank * unit.part, piece.count)
        .copy_(flat.narrow(0, piece.first, piece.count));
  }
}

// An idle engine's graphs hold addresses of what goes here.
void SharedWeights::scatter() {
  if (!std::exchange(are_all_whole_, false)) return;
  enter(Work::kTrain);
  at::NoGradGuard no_grad;
  for (const Unit& unit : layout_.units()) {
    keep_own(unit, share_of(unit));
    release(unit);
  }
}

// What a pass that failed has left is forgotten.
void SharedWeights::begin_update() {
  scatter();
  for (const Unit& unit : layout_.units()) {
    release(unit);
    share_of(unit).all = at::Tensor();
  }
}

void SharedWeights::expect(const Unit& unit) {
  Share& share = share_of(unit);
  if (share.is_whole || share.all.defined()) return;
  share.all = at::empty({unit.part * layout_.num_ranks()}, share.own.options());
  // Copied as bytes, whatever the dtype is.
  share.pending = group_->all_gather(share.all.view(at::kByte), share.own.view(at::kByte), "all-gather of weights");
}

void SharedWeights::need(const Unit& unit) {
  Share& share = share_of(unit);
  if (share.is_whole) return;
  expect(unit);
  share.pending.wait();
  for (const size_t parameter : unit.parameters) {
    const at::Tensor& value = parameters_[parameter].value;
    set_memory(value, share.all.narrow(0, layout_.place(parameter) - unit.begin, value.numel()));
  }
  share.all = at::Tensor();
  share.is_whole = true;
}

void SharedWeights::release(const Unit& unit) {
  Share& share = share_of(unit);
  if (!std::exchange(share.is_whole, false)) return;
  for (const size_t parameter : unit.parameters) free_memory(parameters_[parameter].value);
}

void SharedWeights::gather() {
  if (std::exchange(are_all_whole_, true)) return;
  const ReturnedMemory returned;
  const std::vector<Unit>& units = layout_.units();
  for (size_t u = 0; u < units.size(); ++u) {
    expect(units[u]);
    if (u + 1 < units.size()) expect(units[u + 1]);
    need(units[u]);
  }
}

}  // namespace seekrl::train
