// Buffers of units that live from their backward until their sum over ranks.
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros.h>

#include <utility>

#include "ops/adamw.h"
#include "train/zero/gradients.h"

namespace seekrl::train {

namespace {

// Reductions under way while the backward goes on: each holds the gradients of a unit.
constexpr size_t kUnderWay = 1;

}  // namespace

SharedGradients::SharedGradients(const std::vector<model::Parameter>& parameters, const Layout& layout,
                                 std::shared_ptr<comm::ProcessGroup> group, int64_t num_leaves,
                                 at::ScalarType reduce_dtype)
    : Gradients(parameters, layout, std::move(group)),
      reducer_(group_, reduce_dtype),
      open_(layout.units().size()),
      subtrees_(layout.units().size()) {
  num_subtrees_ = num_leaves / (group_ == nullptr ? 1 : group_->size());
  const at::Device device = parameters.front().value.device();
  share_ = ops::zero_state({layout.size() / layout.num_ranks()}, device, at::kFloat);
  require_gradients();
}

at::Tensor SharedGradients::share_of(size_t unit) const {
  const Unit& own = layout_.units()[unit];
  return share_.narrow(0, own.begin / layout_.num_ranks(), own.part);
}

at::Tensor SharedGradients::own(const Piece& piece) const {
  for (size_t u = 0; u < layout_.units().size(); ++u) {
    const Unit& unit = layout_.units()[u];
    const int64_t place = piece.place - unit.begin - rank() * unit.part;
    if (piece.place < unit.begin + unit.part * layout_.num_ranks()) return share_of(u).narrow(0, place, piece.count);
  }
  TORCH_INTERNAL_ASSERT(false);
}

void SharedGradients::open(const Unit& unit) {
  at::NoGradGuard no_grad;
  const at::Tensor all = at::zeros({unit.part * layout_.num_ranks()}, share_.options());
  for (const size_t parameter : unit.parameters) {
    const int64_t count = parameters_[parameter].value.numel();
    attach(parameter, all.narrow(0, layout_.place(parameter) - unit.begin, count));
  }
  open_[index_of(unit)] = all;
}

void SharedGradients::close(const Unit& unit) {
  at::NoGradGuard no_grad;
  const size_t index = index_of(unit);
  const at::Tensor all = std::exchange(open_[index], at::Tensor());
  for (const size_t parameter : unit.parameters) detach(parameter);
  if (num_subtrees_ > 0) {
    if (group_ != nullptr) group_->tree_reduce(all, "tree reduction of gradients");
    return add_leaves(index, layout_.num_ranks() == 1 ? all : all.narrow(0, rank() * unit.part, unit.part).clone());
  }
  reductions_.push_back({index, reducer_.begin_part(all)});
  finish(kUnderWay);
}

void SharedGradients::finish(size_t most_left) {
  while (reductions_.size() > most_left) {
    Reduction& first = reductions_.front();
    at::Tensor share = share_of(first.unit);
    share.add_(first.part.wait());
    reductions_.pop_front();
  }
}

// A binary counter: of two sums of as many leaves the earlier one stands first.
void SharedGradients::add_leaves(size_t unit, at::Tensor sum) {
  std::vector<at::Tensor>& waiting = subtrees_[unit];
  for (int64_t count = num_passes_; count % 2 == 1; count /= 2) {
    sum = waiting.back().add_(sum);
    waiting.pop_back();
  }
  if (num_passes_ + 1 < num_subtrees_) {
    waiting.push_back(std::move(sum));
    return;
  }
  at::Tensor share = share_of(unit);
  share.add_(sum);
}

void SharedGradients::end_pass() {
  at::NoGradGuard no_grad;
  finish(0);
  num_passes_ = num_subtrees_ == 0 ? 0 : (num_passes_ + 1) % num_subtrees_;
}

void SharedGradients::zero() {
  for (size_t i = 0; i < parameters_.size(); ++i) detach(i);
  open_.assign(open_.size(), at::Tensor());
  reductions_.clear();
  for (auto& waiting : subtrees_) waiting.clear();
  num_passes_ = 0;
  share_.zero_();
}

void SharedGradients::copy_own(size_t parameter, const at::Tensor& flat) const {
  // Where all ranks have all, one says it.
  if (layout_.num_ranks() == 1 && group_ != nullptr && group_->rank() != 0) return;
  for (const Piece& piece : layout_.pieces(rank())) {
    if (piece.parameter == parameter) flat.narrow(0, piece.first, piece.count).copy_(own(piece));
  }
}

}  // namespace seekrl::train
