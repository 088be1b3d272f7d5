// Copied as bytes, whatever the dtype is: Gloo knows no bf16.
#include "train/zero/reducer.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/zeros.h>

#include <utility>

#include "train/zero/returned_memory.h"

namespace seekrl::train {

Reducer::Reducer(std::shared_ptr<comm::ProcessGroup> group, at::ScalarType dtype)
    : group_(std::move(group)), dtype_(dtype) {}

at::Tensor Reducer::Part::wait() {
  at::NoGradGuard no_grad;
  const ReturnedMemory returned;
  pending_.wait();
  if (received_.defined()) own_ = std::exchange(received_, at::Tensor()).sum(0, false, at::kFloat);
  return own_;
}

Reducer::Part Reducer::begin_part(const at::Tensor& all) const {
  const ReturnedMemory returned;
  if (dtype_ != at::kFloat) return begin_rounded(all.to(dtype_));
  Part part;
  part.own_ = at::empty({all.numel() / group_->size()}, all.options());
  part.pending_ = group_->reduce_scatter(part.own_, all, "reduce-scatter of gradients");
  return part;
}

Reducer::Part Reducer::begin_rounded(const at::Tensor& rounded) const {
  Part part;
  part.received_ = at::empty({group_->size(), rounded.numel() / group_->size()}, rounded.options());
  part.pending_ =
      group_->all_to_all(part.received_.view({-1}).view(at::kByte), rounded.view(at::kByte), "all-to-all of gradients");
  return part;
}

void Reducer::sum(const at::Tensor& all) const {
  if (dtype_ == at::kFloat) return group_->all_reduce(all, "all-reduce of gradients").wait();
  const ReturnedMemory returned;
  const int64_t size = group_->size(), count = all.numel(), part = (count + size - 1) / size;
  at::Tensor rounded = at::zeros({size * part}, all.options().dtype(dtype_));
  rounded.narrow(0, 0, count).copy_(all);
  const at::Tensor own = begin_rounded(rounded).wait().to(dtype_);
  group_->all_gather(rounded.view(at::kByte), own.view(at::kByte), "all-gather of gradients").wait();
  at::Tensor to = all;
  to.copy_(rounded.narrow(0, 0, count));
}

}  // namespace seekrl::train
