// Log-softmax and gather of each chunk, differentiated by autograd.
#include "ops/head/composed_logprob.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/tanh.h>
#include <ATen/ops/zeros_like.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>

#include <cstddef>

#include "ops/head/row_chunks.h"

namespace seekrl::ops {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// Backward differentiates each chunk made once more.
class ComposedFunction : public torch::autograd::Function<ComposedFunction> {
 public:
  static variable_list chunk(const at::Tensor& hidden, const at::Tensor& weight_VD, const at::Tensor& ids,
                             double temperature, double softcap) {
    at::Tensor logits = at::linear(hidden, weight_VD).to(at::kFloat);
    if (softcap > 0) logits = at::tanh(logits / softcap) * softcap;
    const at::Tensor all = at::log_softmax(logits / temperature, 1);
    return {all.gather(1, ids.unsqueeze(1)).squeeze(1), (all.exp() * all).sum(1).neg()};
  }

  static variable_list forward(AutogradContext* context, const at::Tensor& hidden_RD, const at::Tensor& weight_VD,
                               const at::Tensor& ids_R, double temperature, double softcap) {
    const auto options = hidden_RD.options().dtype(at::kFloat);
    at::Tensor logprob_R = at::empty({hidden_RD.size(0)}, options), entropy_R = at::empty({hidden_RD.size(0)}, options);
    for_chunks(hidden_RD, weight_VD.size(0), [&](int64_t first, int64_t rows) {
      const variable_list results =
          chunk(hidden_RD.narrow(0, first, rows), weight_VD, ids_R.narrow(0, first, rows), temperature, softcap);
      logprob_R.narrow(0, first, rows).copy_(results[0]);
      entropy_R.narrow(0, first, rows).copy_(results[1]);
    });
    context->save_for_backward({hidden_RD, weight_VD, ids_R});
    context->saved_data["temperature"] = temperature;
    context->saved_data["softcap"] = softcap;
    return {logprob_R, entropy_R};
  }

  static variable_list backward(AutogradContext* context, variable_list grads) {
    const variable_list saved = context->get_saved_variables();
    const bool is_trained = context->needs_input_grad(1);
    const at::Tensor hidden_RD = saved[0].detach(), weight_VD = saved[1].detach().requires_grad_(is_trained);
    const double temperature = context->saved_data["temperature"].toDouble();
    const double softcap = context->saved_data["softcap"].toDouble();
    at::Tensor hidden_grad = at::empty_like(hidden_RD);
    at::Tensor weight_grad = is_trained ? at::zeros_like(weight_VD) : at::Tensor();
    for_chunks(hidden_RD, weight_VD.size(0), [&](int64_t first, int64_t rows) {
      const c10::AutoGradMode with_grad(true);
      const at::Tensor hidden = hidden_RD.narrow(0, first, rows).detach().requires_grad_();
      const variable_list results = chunk(hidden, weight_VD, saved[2].narrow(0, first, rows), temperature, softcap);
      variable_list wanted, wanted_grads;
      for (size_t i = 0; i < 2; ++i) {
        if (!grads[i].defined()) continue;
        wanted.push_back(results[i]);
        wanted_grads.push_back(grads[i].narrow(0, first, rows));
      }
      variable_list trained = {hidden};
      if (is_trained) trained.push_back(weight_VD);
      const variable_list found = torch::autograd::grad(wanted, trained, wanted_grads);
      hidden_grad.narrow(0, first, rows).copy_(found[0]);
      if (is_trained) weight_grad.add_(found[1]);
    });
    return {hidden_grad, weight_grad, at::Tensor(), at::Tensor(), at::Tensor()};
  }
};

}  // namespace

TokenLogprob composed_logprob(const at::Tensor& hidden_RD, const at::Tensor& weight_VD, const at::Tensor& ids_R,
                              double temperature, double logit_softcap) {
  const variable_list results = ComposedFunction::apply(hidden_RD, weight_VD, ids_R, temperature, logit_softcap);
  return {results[0], results[1]};
}

}  // namespace seekrl::ops
