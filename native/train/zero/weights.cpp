// One all-gather a unit, while the one before it is copied to where it belongs.
#include "train/zero/weights.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include <utility>

#include "train/zero/returned_memory.h"

namespace seekrl::train {

WholeWeights::WholeWeights(const std::vector<model::Parameter>& parameters, const Layout& layout,
                           std::shared_ptr<comm::ProcessGroup> group)
    : parameters_(parameters), layout_(layout), group_(std::move(group)) {}

at::Tensor WholeWeights::own(const Piece& piece) const {
  return flat(piece.parameter).narrow(0, piece.first, piece.count);
}

at::Tensor WholeWeights::own_part(const Unit& unit) const {
  at::Tensor part = at::zeros({unit.part}, parameters_.front().value.options().requires_grad(false));
  const int rank = group_->rank();
  for (const Piece& piece : layout_.pieces(unit, rank)) {
    part.narrow(0, piece.place - unit.begin - rank * unit.part, piece.count).copy_(own(piece));
  }
  return part;
}

void WholeWeights::fill(const Unit& unit, const at::Tensor& all) const {
  for (const size_t parameter : unit.parameters) {
    at::Tensor value = flat(parameter);
    value.copy_(all.narrow(0, layout_.place(parameter) - unit.begin, value.numel()));
  }
}

void WholeWeights::end_update() {
  if (layout_.num_ranks() == 1) return;
  at::NoGradGuard no_grad;
  const ReturnedMemory returned;
  comm::Pending pending;
  const Unit* before = nullptr;
  at::Tensor gathered;
  const auto finish = [&] {
    pending.wait();
    if (before != nullptr) fill(*before, gathered);
  };
  for (const Unit& unit : layout_.units()) {
    const at::Tensor part = own_part(unit), all = at::empty({unit.part * layout_.num_ranks()}, part.options());
    // Copied as bytes, whatever the dtype is.
    comm::Pending started = group_->all_gather(all.view(at::kByte), part.view(at::kByte), "all-gather of weights");
    finish();
    pending = std::move(started);
    before = &unit;
    gathered = all;
  }
  finish();
}

}  // namespace seekrl::train
