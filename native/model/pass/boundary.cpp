// An identity whose backward runs once the gradients of both of its tensors are complete.
#include "model/pass/boundary.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/custom_function.h>

#include <optional>

namespace seekrl::model {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

class BoundaryFunction : public torch::autograd::Function<BoundaryFunction> {
 public:
  static variable_list forward(AutogradContext* context, const at::Tensor& x_TD,
                               const std::optional<at::Tensor>& added_TD, int64_t observer, int64_t layer) {
    context->saved_data["observer"] = observer;
    context->saved_data["layer"] = layer;
    if (!added_TD) return {x_TD};
    return {x_TD, *added_TD};
  }

  static variable_list backward(AutogradContext* context, const variable_list& grads) {
    auto* const observer = reinterpret_cast<PassObserver*>(context->saved_data["observer"].toInt());
    observer->backward_at(context->saved_data["layer"].toInt());
    return {grads[0], grads.size() > 1 ? grads[1] : at::Tensor(), at::Tensor(), at::Tensor()};
  }
};

}  // namespace

std::pair<at::Tensor, at::Tensor> boundary(PassObserver& observer, int64_t layer, const at::Tensor& x_TD,
                                           const at::Tensor& added_TD) {
  observer.forward_at(layer);
  if (!at::GradMode::is_enabled()) return {x_TD, added_TD};
  const auto added = added_TD.defined() ? std::optional<at::Tensor>(added_TD) : std::nullopt;
  const variable_list same = BoundaryFunction::apply(x_TD, added, reinterpret_cast<int64_t>(&observer), layer);
  return {same[0], same.size() > 1 ? same[1] : at::Tensor()};
}

}  // namespace seekrl::model
