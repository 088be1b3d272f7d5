// A backward pass of its own inside the backward pass, on the same thread.
#include "model/pass/recompute.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>

#include <utility>

namespace seekrl::model {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

struct KeptStage : torch::CustomClassHolder {
  explicit KeptStage(Stage given) : stage(std::move(given)) {}
  Stage stage;
};

class RecomputedFunction : public torch::autograd::Function<RecomputedFunction> {
 public:
  // `anchor` has gradients though x may have none, as where only a stage's own weights are trained.
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x_TD, const at::Tensor& /*anchor*/,
                            const Stage& stage) {
    context->save_for_backward({x_TD});
    context->saved_data["stage"] = c10::IValue::make_capsule(c10::make_intrusive<KeptStage>(stage));
    return stage(x_TD);
  }

  static variable_list backward(AutogradContext* context, variable_list grads) {
    const auto kept = c10::static_intrusive_pointer_cast<KeptStage>(context->saved_data["stage"].toCapsule());
    const at::Tensor x_TD = context->get_saved_variables()[0].detach().requires_grad_(context->needs_input_grad(0));
    const at::AutoGradMode with_grad(true);
    torch::autograd::backward({kept->stage(x_TD)}, {grads[0]});
    return {x_TD.grad(), at::Tensor(), at::Tensor()};
  }
};

}  // namespace

at::Tensor recomputed(const Stage& stage, const at::Tensor& x_TD) {
  if (!at::GradMode::is_enabled()) return stage(x_TD);
  const at::Tensor anchor = at::empty({0}, x_TD.options()).requires_grad_();
  return RecomputedFunction::apply(x_TD, anchor, stage);
}

}  // namespace seekrl::model
