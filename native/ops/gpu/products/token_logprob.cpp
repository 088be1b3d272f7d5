// Chunks of rows: their logits in f32, made once more for the gradients, which take their place.
#include "ops/gpu/products/token_logprob.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <optional>

#include "ops/gpu/gpu.h"
#include "ops/gpu/products/product.h"
#include "ops/gpu/products/quant.h"
#include "ops/gradient.h"
#include "ops/kernel_path.h"
#include "ops/products/quant_linear.h"

namespace seekrl::ops {

namespace {

using cuda::ProductForm;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// One call of the head and the distribution that it stands for.
struct Head {
  const at::Tensor& hidden_RD;
  const Weight& weight_VD;
  const at::Tensor& ids_R;
  double temperature, softcap;
  const HeadSlice& slice;

  int64_t num_rows() const { return hidden_RD.size(0); }
  int64_t vocab_size() const { return weight_VD.n(); }
  LogitChunk chunk() const { return gpu_logit_chunk(num_rows(), vocab_size()); }
  int64_t stride() const { return chunk().stride; }
  at::Tensor make_chunk() const { return at::empty({chunk().rows, stride()}, hidden_RD.options().dtype(at::kFloat)); }
  cuda::LogitRows rows(const at::Tensor& logits, int64_t first) const {
    return {.logits_RV = logits.mutable_data_ptr<float>(),
            .ids_R = ids_R.const_data_ptr<int64_t>() + first,
            .num_rows = logits.size(0),
            .vocab_size = vocab_size(),
            .stride = stride(),
            .inverse_temperature = static_cast<float>(1.0 / temperature),
            .softcap = static_cast<float>(softcap),
            .is_part = !slice.is_all(),
            .first_id = slice.first};
  }
  // Calls body(first row, logits of the chunk [rows, stride], of which the first V are set).
  template <class Body>
  void each_chunk(const Body& body) const {
    const at::Tensor chunk = make_chunk();
    for (int64_t first = 0; first < num_rows(); first += chunk.size(0)) {
      const int64_t count = std::min(chunk.size(0), num_rows() - first);
      const at::Tensor logits = chunk.narrow(0, 0, count);
      gpu_logits(logits, hidden_RD.narrow(0, first, count), weight_VD);
      body(first, logits);
    }
  }
};

// stats_4R: log-probabilities, entropies, maxima, logarithms of sums.
cuda::RowScores scores_at(const at::Tensor& stats_4R, int64_t first) {
  const auto row = [&](int64_t i) { return stats_4R.select(0, i).mutable_data_ptr<float>() + first; };
  return {.logprob_R = row(0), .entropy_R = row(1), .max_R = row(2), .log_sum_R = row(3)};
}

// Of the parts that all ranks have, those of whole rows.
at::Tensor combined(const at::Tensor& parts_P4R) {
  const at::Tensor stats_4R = at::empty({4, parts_P4R.size(2)}, parts_P4R.options());
  require_launched(gpu().combine_scores(scores_at(stats_4R, 0), parts_P4R.const_data_ptr<float>(), parts_P4R.size(0),
                                        parts_P4R.size(2), stream_of(stats_4R)));
  return stats_4R;
}

at::Tensor score(const Head& head) {
  const at::Tensor stats_4R = at::empty({4, head.num_rows()}, head.hidden_RD.options().dtype(at::kFloat));
  head.each_chunk([&](int64_t first, const at::Tensor& logits) {
    require_launched(gpu().score_logits(scores_at(stats_4R, first), head.rows(logits, first), stream_of(logits)));
  });
  return head.slice.is_all() ? stats_4R : combined(head.slice.gather(stats_4R));
}

// The numbers of 16 bits that stand at the beginning of each row of floats.
at::Tensor narrow_rows(const at::Tensor& logits, at::ScalarType dtype) {
  return logits.view(dtype).narrow(1, 0, logits.size(1));
}

// The weight's gradient, or a sum in its place with as many rows as products need.
class WeightGradient {
 public:
  WeightGradient(const at::Tensor& weight_VD, int64_t num_rows)
      : weight_VD_(weight_VD), target_(gradient_target(weight_VD)), sum_(target_) {
    if (num_rows > weight_VD.size(0)) sum_ = at::zeros({num_rows, weight_VD.size(1)}, target_.options());
  }
  const at::Tensor& sum() const { return sum_; }
  at::Tensor result() const {
    if (sum_.size(0) > target_.size(0)) target_.add_(sum_.narrow(0, 0, target_.size(0)));
    return gradient_result(weight_VD_, target_);
  }

 private:
  at::Tensor weight_VD_, target_, sum_;
};

// With rows of zeros behind its own.
at::Tensor with_rows(const at::Tensor& weight_VD, int64_t num_rows) {
  const int64_t missing = num_rows - weight_VD.size(0);
  return missing == 0 ? weight_VD : at::cat({weight_VD, at::zeros({missing, weight_VD.size(1)}, weight_VD.options())});
}

class GpuLogprobFunction : public torch::autograd::Function<GpuLogprobFunction> {
 public:
  // The weight's tensor, undefined for a quantised one, is an argument of its own, that autograd sees it.
  static variable_list forward(AutogradContext* context, const at::Tensor& hidden_RD,
                               const std::optional<at::Tensor>& plain_VD, const QuantWeight& quant,
                               const at::Tensor& ids_R, double temperature, double softcap, const HeadSlice& slice) {
    const Weight weight_VD = plain_VD.has_value() ? Weight(*plain_VD) : Weight(quant);
    const at::Tensor stats_4R = score({hidden_RD, weight_VD, ids_R, temperature, softcap, slice});
    context->saved_data["first_id"] = slice.first;
    context->saved_data["whole"] = slice.whole;
    context->save_for_backward({hidden_RD, weight_VD.plain_NK, ids_R, stats_4R});
    hold_weight(context, quant);
    context->saved_data["temperature"] = temperature;
    context->saved_data["softcap"] = softcap;
    return {stats_4R.select(0, 0).clone(), stats_4R.select(0, 1).clone()};
  }

  static variable_list backward(AutogradContext* context, variable_list grads) {
    const variable_list saved = context->get_saved_variables();
    const Weight weight_VD = saved[1].defined() ? Weight(saved[1]) : Weight(held_weight(context));
    const HeadSlice slice = {context->saved_data["first_id"].toInt(), context->saved_data["whole"].toInt()};
    const Head head = {saved[0],
                       weight_VD,
                       saved[2],
                       context->saved_data["temperature"].toDouble(),
                       context->saved_data["softcap"].toDouble(),
                       slice};
    const at::Tensor &stats_4R = saved[3], none_R = at::zeros_like(stats_4R.select(0, 0));
    const at::Tensor logprob_grad = grads[0].defined() ? grads[0].contiguous() : none_R,
                     entropy_grad = grads[1].defined() ? grads[1].contiguous() : none_R;
    at::Tensor hidden_grad;
    if (context->needs_input_grad(0)) hidden_grad = at::empty_like(head.hidden_RD);
    std::optional<WeightGradient> weight_grad;
    const bool is_plain = !weight_VD.is_quant();
    if (is_plain && context->needs_input_grad(1)) weight_grad.emplace(weight_VD.plain_NK, head.stride());
    const at::Tensor filled = is_plain ? with_rows(weight_VD.plain_NK.detach(), head.stride()) : at::Tensor();
    head.each_chunk([&](int64_t first, const at::Tensor& logits) {
      const cuda::ScoreGradients of = {logprob_grad.const_data_ptr<float>() + first,
                                       entropy_grad.const_data_ptr<float>() + first};
      require_launched(gpu().logit_gradients(head.rows(logits, first), scores_at(stats_4R, first), of,
                                             gpu_dtype(head.hidden_RD), stream_of(logits)));
      const at::Tensor logits_grad = narrow_rows(logits, head.hidden_RD.scalar_type());
      const int64_t count = logits.size(0);
      if (hidden_grad.defined()) {
        const at::Tensor to = hidden_grad.narrow(0, first, count);
        is_plain ? gpu_product(to, logits_grad, filled, ProductForm::kInputGradient)
                 : gpu_quant_input_gradient(to, logits_grad, weight_VD.quant);
      }
      if (weight_grad.has_value()) {
        gpu_product(weight_grad->sum(), logits_grad, head.hidden_RD.narrow(0, first, count),
                    ProductForm::kWeightGradient, true);
      }
    });
    return {hidden_grad,  weight_grad.has_value() ? weight_grad->result() : at::Tensor(),
            at::Tensor(), at::Tensor(),
            at::Tensor(), at::Tensor(),
            at::Tensor()};
  }
};

}  // namespace

GpuScores gpu_token_logprob(const at::Tensor& hidden_RD, const Weight& weight_VD, const at::Tensor& ids_R,
                            double temperature, double softcap, const HeadSlice& slice) {
  const at::Tensor hidden = hidden_RD.contiguous(), ids = ids_R.contiguous();
  const auto plain = weight_VD.is_quant() ? std::nullopt : std::optional<at::Tensor>(weight_VD.plain_NK.contiguous());
  if (!needs_grad(hidden, weight_VD.plain_NK)) {
    const Weight weight = plain.has_value() ? Weight(*plain) : weight_VD;
    const at::Tensor stats_4R = score({hidden, weight, ids, temperature, softcap, slice});
    return {stats_4R.select(0, 0), stats_4R.select(0, 1)};
  }
  const variable_list results =
      GpuLogprobFunction::apply(hidden, plain, weight_VD.quant, ids, temperature, softcap, slice);
  return {results[0], results[1]};
}

at::Tensor gpu_normalisers(const at::Tensor& logits_RV, int64_t part, double temperature, double softcap) {
  const int64_t num_rows = logits_RV.size(0), vocab_size = logits_RV.size(1);
  const at::Tensor ids_R = at::zeros({num_rows}, logits_RV.options().dtype(at::kLong));
  const at::Tensor own = at::empty({num_rows, (part + 7) / 8 * 8}, logits_RV.options());
  const at::Tensor parts_P4R = at::empty({(vocab_size + part - 1) / part, 4, num_rows}, logits_RV.options());
  for (int64_t first = 0; first < vocab_size; first += part) {
    const int64_t size = std::min(part, vocab_size - first);
    own.narrow(1, 0, size).copy_(logits_RV.narrow(1, first, size));
    const cuda::LogitRows rows = {.logits_RV = own.mutable_data_ptr<float>(),
                                  .ids_R = ids_R.const_data_ptr<int64_t>(),
                                  .num_rows = num_rows,
                                  .vocab_size = size,
                                  .stride = own.size(1),
                                  .inverse_temperature = static_cast<float>(1.0 / temperature),
                                  .softcap = static_cast<float>(softcap),
                                  .is_part = true,
                                  .first_id = first};
    require_launched(gpu().score_logits(scores_at(parts_P4R.select(0, first / part), 0), rows, stream_of(own)));
  }
  return combined(parts_P4R).narrow(0, 1, 3);
}

}  // namespace seekrl::ops
