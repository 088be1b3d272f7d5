// What both ways of summing share, and the arena.
#include "train/zero/gradients.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/zeros.h>

#include <utility>

#include "ops/adamw.h"

namespace seekrl::train {

Gradients::Gradients(const std::vector<model::Parameter>& parameters, const Layout& layout,
                     std::shared_ptr<comm::ProcessGroup> group)
    : parameters_(parameters), layout_(layout), group_(std::move(group)) {}

Gradients::~Gradients() {
  for (size_t i = 0; i < parameters_.size(); ++i) {
    detach(i);
    parameters_[i].value.requires_grad_(false);
  }
}

void Gradients::attach(size_t parameter, const at::Tensor& flat) {
  const at::Tensor& value = parameters_[parameter].value;
  value.mutable_grad() = flat.view(value.sizes());
}

void Gradients::detach(size_t parameter) { parameters_[parameter].value.mutable_grad().reset(); }

// When all memory is there: a parameter that requires gradients is somebody's.
void Gradients::require_gradients() {
  for (const auto& parameter : parameters_) parameter.value.requires_grad_(true);
}

at::Tensor Gradients::total(size_t parameter) const {
  const at::Tensor& value = parameters_[parameter].value;
  const at::Tensor sum = at::zeros({value.numel()}, value.options().dtype(at::kFloat).requires_grad(false));
  copy_own(parameter, sum);
  if (group_ != nullptr) group_->all_reduce(sum, "all-reduce of a gradient").wait();
  return sum.view(value.sizes());
}

WholeGradients::WholeGradients(const std::vector<model::Parameter>& parameters, const Layout& layout,
                               std::shared_ptr<comm::ProcessGroup> group, at::ScalarType reduce_dtype)
    : Gradients(parameters, layout, std::move(group)), reducer_(group_, reduce_dtype) {
  arena_ = ops::zero_state({layout.size()}, parameters.front().value.device(), at::kFloat);
  for (size_t i = 0; i < parameters_.size(); ++i) {
    attach(i, arena_.narrow(0, layout.place(i), parameters_[i].value.numel()));
  }
  require_gradients();
}

void WholeGradients::reduce() {
  if (group_ == nullptr || group_->size() == 1) return;
  if (layout_.num_ranks() > 1) return reduce_parts();
  if (!reducer_.has_copies()) return reducer_.sum(arena_);
  for (const Unit& unit : layout_.units()) reducer_.sum(arena_.narrow(0, unit.begin, unit.part));
}

// One unit is summed while the one before it is put in its place: no more memory than two parts is taken.
void WholeGradients::reduce_parts() {
  Reducer::Part pending;
  at::Tensor place;
  const auto finish = [&] {
    if (place.defined()) place.copy_(pending.wait());
  };
  for (const Unit& unit : layout_.units()) {
    const at::Tensor all = arena_.narrow(0, unit.begin, unit.part * layout_.num_ranks());
    Reducer::Part started = reducer_.begin_part(all);
    finish();
    pending = std::move(started);
    place = all.narrow(0, rank() * unit.part, unit.part);
  }
  finish();
}

void WholeGradients::copy_own(size_t parameter, const at::Tensor& flat) const {
  at::Tensor to = flat;
  to.copy_(arena_.narrow(0, layout_.place(parameter), flat.numel()));
}

}  // namespace seekrl::train
