// One collective over the arena, or one a unit.
#include "train/zero/gradients.h"

#include <ATen/ops/empty.h>

#include <utility>

#include "ops/adamw.h"
#include "ops/norm.h"

namespace seekrl::train {

Gradients::Gradients(const std::vector<model::Parameter>& parameters, const Layout& layout,
                     std::shared_ptr<comm::ProcessGroup> group)
    : parameters_(parameters), layout_(layout), group_(std::move(group)) {
  arena_ = ops::zero_state({layout.size()}, parameters.front().value.device(), at::kFloat);
  std::vector<at::Tensor> gradients;
  for (size_t i = 0; i < parameters_.size(); ++i) {
    const at::Tensor& value = parameters_[i].value;
    gradients.push_back(arena_.narrow(0, layout.place(i), value.numel()).view(value.sizes()));
  }
  // When all memory is there: a parameter that requires gradients is somebody's.
  for (size_t i = 0; i < parameters_.size(); ++i) {
    parameters_[i].value.requires_grad_(true);
    // With a gradient already in place, autograd adds to it: gradients of every dtype are summed in the arena itself.
    parameters_[i].value.mutable_grad() = gradients[i];
  }
}

Gradients::~Gradients() {
  for (auto& parameter : parameters_) {
    parameter.value.mutable_grad().reset();
    parameter.value.requires_grad_(false);
  }
}

void Gradients::reduce() {
  if (group_ == nullptr) return;
  if (layout_.num_ranks() > 1) return reduce_scatter();
  group_->all_reduce(arena_, "all-reduce of gradients").wait();
}

// One unit is summed while the one before it is put in its place: no more memory than two parts is taken.
void Gradients::reduce_scatter() {
  comm::Pending pending;
  at::Tensor own, place;
  const auto finish = [&] {
    pending.wait();
    if (own.defined()) place.copy_(own);
  };
  for (const Unit& unit : layout_.units()) {
    const at::Tensor all = arena_.narrow(0, unit.begin, unit.part * layout_.num_ranks());
    const at::Tensor next = at::empty({unit.part}, arena_.options());
    comm::Pending started = group_->reduce_scatter(next, all, "reduce-scatter of gradients");
    finish();
    pending = std::move(started);
    own = next;
    place = all.narrow(0, group_->rank() * unit.part, unit.part);
  }
  finish();
}

double Gradients::norm() const { return ops::norm(arena_); }

at::Tensor Gradients::total(size_t parameter) const {
  const at::Tensor& value = parameters_[parameter].value;
  at::Tensor sum = arena_.narrow(0, layout_.place(parameter), value.numel()).clone().view(value.sizes());
  if (group_ != nullptr) group_->all_reduce(sum, "all-reduce of a gradient").wait();
  return sum;
}

}  // namespace seekrl::train
