// Forward keeps only two numbers per row; backward makes each chunk's logits once more.
#include "ops/token_logprob.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>

#include "base/error.h"
#include "ops/linear.h"

namespace seekrl::ops {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// About 32 MB of logits at a time.
int64_t chunk_rows(int64_t vocab_size) { return std::clamp<int64_t>((int64_t{1} << 23) / vocab_size, 1, 1024); }

// log-probabilities of every id, f32 [rows, V].
at::Tensor chunk_logprobs(const at::Tensor& hidden, const at::Tensor& weight_VD, double temperature) {
  return at::log_softmax(ops::linear(hidden, weight_VD, at::Tensor()).to(at::kFloat) / temperature, 1);
}

class TokenLogprobFunction : public torch::autograd::Function<TokenLogprobFunction> {
 public:
  static variable_list forward(AutogradContext* context, const at::Tensor& hidden_RD, const at::Tensor& weight_VD,
                               const at::Tensor& ids_R, double temperature) {
    const int64_t num_rows = hidden_RD.size(0), rows = chunk_rows(weight_VD.size(0));
    const auto options = hidden_RD.options().dtype(at::kFloat);
    at::Tensor logprob_R = at::empty({num_rows}, options), entropy_R = at::empty({num_rows}, options);
    for (int64_t start = 0; start < num_rows; start += rows) {
      const int64_t end = std::min(num_rows, start + rows);
      const at::Tensor all = chunk_logprobs(hidden_RD.slice(0, start, end), weight_VD, temperature);
      logprob_R.slice(0, start, end).copy_(all.gather(1, ids_R.slice(0, start, end).unsqueeze(1)).squeeze(1));
      entropy_R.slice(0, start, end).copy_((all.exp() * all).sum(1).neg());
    }
    context->save_for_backward({hidden_RD, weight_VD, ids_R, entropy_R});
    context->saved_data["temperature"] = temperature;
    return {logprob_R, entropy_R};
  }

  // With p the row's distribution and H its entropy: d logprob / d logit_v = [v = id] - p_v and
  // d entropy / d logit_v = -p_v (log p_v + H), both divided by the temperature.
  static variable_list backward(AutogradContext* context, variable_list grads) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor &hidden_RD = saved[0], &weight_VD = saved[1], &ids_R = saved[2], &entropy_R = saved[3];
    const double temperature = context->saved_data["temperature"].toDouble();
    const int64_t num_rows = hidden_RD.size(0), rows = chunk_rows(weight_VD.size(0));
    const bool wants_hidden = context->needs_input_grad(0), wants_weight = context->needs_input_grad(1);
    at::Tensor hidden_grad = wants_hidden ? at::empty_like(hidden_RD) : at::Tensor();
    at::Tensor weight_grad = wants_weight ? at::zeros_like(weight_VD) : at::Tensor();
    for (int64_t start = 0; start < num_rows; start += rows) {
      const int64_t end = std::min(num_rows, start + rows);
      const at::Tensor hidden = hidden_RD.slice(0, start, end);
      const at::Tensor all = chunk_logprobs(hidden, weight_VD, temperature);
      const at::Tensor p = all.exp();
      at::Tensor logits_grad = at::zeros_like(all);
      if (grads[0].defined()) {
        const at::Tensor grad = grads[0].slice(0, start, end).unsqueeze(1);
        logits_grad.scatter_(1, ids_R.slice(0, start, end).unsqueeze(1), grad.contiguous());
        logits_grad.sub_(p * grad);
      }
      if (grads[1].defined()) {
        const at::Tensor grad = grads[1].slice(0, start, end).unsqueeze(1);
        logits_grad.sub_(p * (all + entropy_R.slice(0, start, end).unsqueeze(1)) * grad);
      }
      logits_grad = logits_grad.div_(temperature).to(weight_VD.scalar_type());
      if (wants_hidden) hidden_grad.slice(0, start, end).copy_(logits_grad.mm(weight_VD));
      if (wants_weight) weight_grad.addmm_(logits_grad.t(), hidden);
    }
    return {hidden_grad, weight_grad, at::Tensor(), at::Tensor()};
  }
};

}  // namespace

TokenLogprob token_logprob(const at::Tensor& hidden_RD, const at::Tensor& weight_VD, const at::Tensor& ids_R,
                           double temperature) {
  require(hidden_RD.dim() == 2 && weight_VD.dim() == 2 && hidden_RD.size(1) == weight_VD.size(1) && ids_R.dim() == 1 &&
              ids_R.size(0) == hidden_RD.size(0),
          ErrorCode::kShape, "token_logprob: expected hidden [R, D], weight [V, D], ids [R], got ", hidden_RD.sizes(),
          ", ", weight_VD.sizes(), ", ", ids_R.sizes());
  require(ids_R.scalar_type() == at::kLong, ErrorCode::kDtype, "token_logprob: expected i64 ids");
  require(temperature > 0, ErrorCode::kRange, "token_logprob: temperature: expected > 0, got ", temperature);
  variable_list results = TokenLogprobFunction::apply(hidden_RD, weight_VD, ids_R, temperature);
  return {results[0], results[1]};
}

}  // namespace seekrl::ops
