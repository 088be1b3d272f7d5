// Forward keeps a few numbers per row and the last chunk's logits; backward makes the others once more and turns them
// into gradients.
#include "ops/head/token_logprob.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "base/error.h"
#include "kernels/logprob.h"
#include "ops/elementwise/softcap.h"
#include "ops/gpu/gpu.h"
#include "ops/gpu/products/token_logprob.h"
#include "ops/gradient.h"
#include "ops/head/composed_logprob.h"
#include "ops/head/head_products.h"
#include "ops/head/row_chunks.h"
#include "ops/head/row_parts.h"
#include "ops/kernel_path.h"
#include "ops/products/quant_linear.h"
#include "ops/scratch.h"

namespace seekrl::ops {

namespace {

using kernels::RowStats;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// What backward needs besides the inputs: the columns of stats_R4 are max, log_sum, entropy and log-probability.
constexpr int64_t kNumStats = 4;

void logits_cpu(const at::Tensor& logits, const at::Tensor& hidden_RD, int64_t first, int64_t rows,
                const Weight& weight_VD, double softcap) {
  head_logits(logits, hidden_RD, first, rows, weight_VD);
  if (softcap > 0) softcap_(logits.narrow(0, 0, rows), softcap);
}

struct Scored {
  at::Tensor stats_R4;
  at::Tensor logits;  // of the last chunk
};

Scored forward_cpu(const at::Tensor& hidden_RD, const Weight& weight_VD, const at::Tensor& ids_R, double temperature,
                   double softcap, const HeadSlice& slice) {
  const int64_t v = weight_VD.n(), num_rows = hidden_RD.size(0), whole = slice.is_all() ? v : slice.whole;
  const auto inverse = static_cast<float>(1.0 / temperature);
  at::Tensor stats_R4 = at::empty({num_rows, kNumStats}, hidden_RD.options());
  at::Tensor logits = at::empty({std::min(num_rows, chunk_rows(v)), v}, hidden_RD.options());
  float* stats = stats_R4.mutable_data_ptr<float>();
  const int64_t* ids = ids_R.const_data_ptr<int64_t>();
  for (int64_t row = 0; row < num_rows; ++row) {
    require(ids[row] >= 0 && ids[row] < whole, ErrorCode::kRange, "token_logprob: id: expected 0 to ", whole - 1,
            ", got ", ids[row]);
  }
  for_chunks(hidden_RD, v, [&](int64_t first, int64_t rows) {
    logits_cpu(logits, hidden_RD, first, rows, weight_VD, softcap);
    const float* data = logits.const_data_ptr<float>();
    for_rows(rows, v, [&](int64_t row) {
      const RowStats found = kernels::row_stats(data + row * v, v, inverse);
      float* to = stats + (first + row) * kNumStats;
      to[0] = found.max;
      to[1] = found.log_sum;
      to[2] = found.entropy;
      const int64_t id = ids[first + row] - slice.first;
      const bool is_own = id >= 0 && id < v;
      if (slice.is_all()) {
        to[3] = kernels::logprob(found, data[row * v + id], inverse);
      } else {
        to[3] = is_own ? data[row * v + id] * inverse : -std::numeric_limits<float>::infinity();
      }
    });
  });
  return {slice.is_all() ? stats_R4 : combined_stats(slice.gather(stats_R4)), logits};
}

// The gradients of all rows' results as two arrays, zero where autograd has none.
struct ResultGradients {
  at::Tensor logprob_R, entropy_R;

  ResultGradients(const variable_list& grads, int64_t num_rows, const at::TensorOptions& options)
      : logprob_R(grads[0].defined() ? grads[0].contiguous() : at::zeros({num_rows}, options)),
        entropy_R(grads[1].defined() ? grads[1].contiguous() : at::zeros({num_rows}, options)) {}

  // `id`: of the slice's.
  kernels::RowGradients row(int64_t row, int64_t id) const {
    return {id, logprob_R.const_data_ptr<float>()[row], entropy_R.const_data_ptr<float>()[row]};
  }
};

// As the kernel, of a row whose id is maybe not among its logits: the kernel then takes the first one for it, which is
// made again.
void row_backward(float* row, int64_t v, float inverse, const RowStats& stats, kernels::RowGradients grads) {
  const bool is_own = grads.id >= 0 && grads.id < v;
  float first[2] = {row[0], 0};
  if (!is_own) grads.id = 0;
  kernels::row_backward(row, v, inverse, stats, grads);
  if (is_own) return;
  grads.id = 1;
  kernels::row_backward(first, 1, inverse, stats, grads);
  row[0] = first[0];
}

// Replaces the chunk's logits by the gradients of what they were before the bound.
void logits_backward_cpu(const at::Tensor& logits, int64_t first, int64_t rows, const at::Tensor& ids_R,
                         const at::Tensor& stats_R4, const ResultGradients& grads, double temperature, double softcap,
                         int64_t first_id) {
  const int64_t v = logits.size(1);
  const auto inverse_cap = static_cast<float>(softcap > 0 ? 1.0 / softcap : 0.0);
  float* data = logits.mutable_data_ptr<float>();
  const float* stats = stats_R4.const_data_ptr<float>() + first * kNumStats;
  const int64_t* ids = ids_R.const_data_ptr<int64_t>() + first;
  for_rows(rows, v, [&](int64_t row) {
    const float* from = stats + row * kNumStats;
    float* const row_data = data + row * v;
    float* const capped = softcap > 0 ? scratch<float, Scratch::kLogits>(v) : nullptr;
    if (capped != nullptr) std::copy_n(row_data, v, capped);
    row_backward(row_data, v, static_cast<float>(1.0 / temperature), {from[0], from[1], from[2]},
                 grads.row(first + row, ids[row] - first_id));
    if (capped == nullptr) return;
    for (int64_t i = 0; i < v; ++i) row_data[i] *= 1.0f - (capped[i] * inverse_cap) * (capped[i] * inverse_cap);
  });
}

class TokenLogprobFunction : public torch::autograd::Function<TokenLogprobFunction> {
 public:
  // The weight's tensor, undefined for a quantised one, is an argument of its own, that autograd sees it.
  static variable_list forward(AutogradContext* context, const at::Tensor& hidden_RD,
                               const std::optional<at::Tensor>& plain_VD, const QuantWeight& quant,
                               const at::Tensor& ids_R, double temperature, double softcap, const HeadSlice& slice) {
    const Weight weight_VD = plain_VD.has_value() ? Weight(*plain_VD) : Weight(quant);
    const auto [stats_R4, logits] = forward_cpu(hidden_RD, weight_VD, ids_R, temperature, softcap, slice);
    context->saved_data["first_id"] = slice.first;
    context->saved_data["softcap"] = softcap;
    context->save_for_backward({hidden_RD, weight_VD.plain_NK, ids_R, stats_R4, logits});
    hold_weight(context, quant);
    context->saved_data["temperature"] = temperature;
    return {stats_R4.select(1, 3).contiguous(), stats_R4.select(1, 2).contiguous()};
  }

  static variable_list backward(AutogradContext* context, variable_list grads) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor &hidden_RD = saved[0], &ids_R = saved[2], &stats_R4 = saved[3];
    const Weight weight_VD = saved[1].defined() ? Weight(saved[1]) : Weight(held_weight(context));
    const double temperature = context->saved_data["temperature"].toDouble();
    const double softcap = context->saved_data["softcap"].toDouble();
    const int64_t first_id = context->saved_data["first_id"].toInt();
    const int64_t v = weight_VD.n(), num_rows = hidden_RD.size(0);
    const ResultGradients result_grads(grads, num_rows, hidden_RD.options());
    const at::Tensor& logits = saved[4];
    at::Tensor hidden_grad, weight_grad;
    if (context->needs_input_grad(0)) hidden_grad = at::empty_like(hidden_RD);
    if (context->needs_input_grad(1)) weight_grad = gradient_target(weight_VD.plain_NK);
    float* hidden_to = hidden_grad.defined() ? hidden_grad.mutable_data_ptr<float>() : nullptr;
    float* weight_to = weight_grad.defined() ? weight_grad.mutable_data_ptr<float>() : nullptr;
    for_chunks_backward(hidden_RD, v, [&](int64_t first, int64_t rows) {
      if (first + rows < num_rows) logits_cpu(logits, hidden_RD, first, rows, weight_VD, softcap);
      logits_backward_cpu(logits, first, rows, ids_R, stats_R4, result_grads, temperature, softcap, first_id);
      head_backward(hidden_to, weight_to, logits, hidden_RD, first, rows, weight_VD);
    });
    if (weight_grad.defined()) weight_grad = gradient_result(weight_VD.plain_NK, weight_grad);
    return {hidden_grad, weight_grad, at::Tensor(), at::Tensor(), at::Tensor(), at::Tensor(), at::Tensor()};
  }
};

void check_head(const at::Tensor& hidden_RD, const Weight& weight_VD, const at::Tensor& ids_R, double temperature) {
  require(hidden_RD.dim() == 2 && (weight_VD.is_quant() || weight_VD.plain_NK.dim() == 2) &&
              hidden_RD.size(1) == weight_VD.k() && ids_R.dim() == 1 && ids_R.size(0) == hidden_RD.size(0),
          ErrorCode::kShape, "token_logprob: expected hidden [R, D], weight [V, D], ids [R], got ", hidden_RD.sizes(),
          ", [", weight_VD.n(), ", ", weight_VD.k(), "], ", ids_R.sizes());
  require(ids_R.scalar_type() == at::kLong, ErrorCode::kDtype, "token_logprob: expected i64 ids, got ",
          ids_R.scalar_type());
  require(temperature > 0, ErrorCode::kRange, "token_logprob: temperature: expected > 0, got ", temperature);
}

}  // namespace

TokenLogprob token_logprob(const at::Tensor& hidden_RD, const Weight& weight_VD, const at::Tensor& ids_R,
                           double temperature, double logit_softcap, const HeadSlice& slice) {
  check_head(hidden_RD, weight_VD, ids_R, temperature);
  const at::Tensor& plain_VD = weight_VD.plain_NK;
  const bool is_gpu = weight_VD.is_quant() ? !weight_VD.quant.is_on_cpu() : uses_gpu_kernels(plain_VD);
  require(!weight_VD.is_quant() || is_gpu || is_cpu_f32(hidden_RD), ErrorCode::kDtype,
          "token_logprob: a quantised weight: expected hidden states in f32 on the CPU");
  if (is_gpu) {
    const auto [logprob_R, entropy_R] =
        gpu_token_logprob(hidden_RD, weight_VD, ids_R, temperature, logit_softcap, slice);
    return {logprob_R, entropy_R};
  }
  if (!weight_VD.is_quant() && !is_cpu_f32(hidden_RD, plain_VD) && !is_cpu_bf16(hidden_RD, plain_VD)) {
    return composed_logprob(hidden_RD, plain_VD, ids_R, temperature, logit_softcap);
  }
  const at::Tensor hidden = hidden_RD.contiguous(), ids = ids_R.contiguous();
  const auto plain = weight_VD.is_quant() ? std::nullopt : std::optional<at::Tensor>(plain_VD.contiguous());
  if (!needs_grad(hidden, plain_VD)) {
    const Weight weight = plain.has_value() ? Weight(*plain) : weight_VD;
    const auto [stats_R4, logits] = forward_cpu(hidden, weight, ids, temperature, logit_softcap, slice);
    return {stats_R4.select(1, 3).contiguous(), stats_R4.select(1, 2).contiguous()};
  }
  const variable_list results =
      TokenLogprobFunction::apply(hidden, plain, weight_VD.quant, ids, temperature, logit_softcap, slice);
  return {results[0], results[1]};
}

}  // namespace seekrl::ops
