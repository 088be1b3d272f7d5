// Forward keeps a few numbers per row and the last chunk's logits; backward makes the others once more and turns them
// into gradients.
#include "ops/token_logprob.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/tanh.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <optional>

#include "base/error.h"
#include "kernels/logprob.h"
#include "kernels/products/bf16.h"
#include "ops/elementwise/softcap.h"
#include "ops/card/card.h"
#include "ops/card/token_logprob.h"
#include "ops/gradient.h"
#include "ops/kernel_path.h"
#include "ops/parallel.h"
#include "ops/products/bf16_matmul.h"
#include "ops/products/matmul.h"
#include "ops/products/quant_linear.h"
#include "ops/scratch.h"

namespace seekrl::ops {

namespace {

using kernels::RowStats;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// What backward needs besides the inputs: the columns of stats_R4 are max, log_sum, entropy and log-probability.
constexpr int64_t kNumStats = 4;

// Logits of 128 MB at once: each chunk reads and writes the head's whole gradient, and all but one are made twice.
int64_t chunk_rows(int64_t vocab_size) { return std::max<int64_t>((int64_t{1} << 25) / vocab_size, 64); }

// Calls body(first row, rows of the chunk).
template <class Body>
void for_chunks(const at::Tensor& hidden_RD, int64_t vocab_size, const Body& body) {
  const int64_t num_rows = hidden_RD.size(0), rows = chunk_rows(vocab_size);
  for (int64_t first = 0; first < num_rows; first += rows) body(first, std::min(rows, num_rows - first));
}

// The same chunks from the last to the first.
template <class Body>
void for_chunks_backward(const at::Tensor& hidden_RD, int64_t vocab_size, const Body& body) {
  const int64_t num_rows = hidden_RD.size(0), rows = chunk_rows(vocab_size);
  for (int64_t first = (num_rows - 1) / rows * rows; first >= 0; first -= rows) {
    body(first, std::min(rows, num_rows - first));
  }
}

// Row-wise work over logits of V floats a row; an exponential costs about as much as 16 multiply-adds.
template <class Body>
void for_rows(int64_t num_rows, int64_t vocab_size, const Body& body) {
  constexpr int64_t kBlockRows = 8;
  claim_items((num_rows + kBlockRows - 1) / kBlockRows, num_rows * vocab_size * 16, [&](int64_t block) {
    const int64_t end = std::min(num_rows, (block + 1) * kBlockRows);
    for (int64_t row = block * kBlockRows; row < end; ++row) body(row);
  });
}

void products_cpu(const at::Tensor& logits, const at::Tensor& hidden_RD, int64_t first, int64_t rows,
                  const Weight& head_VD) {
  const int64_t v = head_VD.n(), d = head_VD.k();
  const float* hidden = hidden_RD.const_data_ptr<float>() + first * d;
  float* to = logits.mutable_data_ptr<float>();
  if (head_VD.is_quant()) return quant_product(to, hidden, rows, head_VD.quant, nullptr);
  const at::Tensor& weight_VD = head_VD.plain_NK;
  if (weight_VD.scalar_type() == at::kBFloat16) {
    bf16_linear(to, v, round_rows(hidden, d, rows, d, atens_helpers()), bits_of(weight_VD), v, nullptr,
                Activation::kNone, atens_helpers());
    return;
  }
  parallel_matmul(to, v, {hidden, d, 1}, {weight_VD.const_data_ptr<float>(), 1, d}, rows, v, d, kernels::Start::kZero,
                  nullptr);
}

void logits_cpu(const at::Tensor& logits, const at::Tensor& hidden_RD, int64_t first, int64_t rows,
                const Weight& weight_VD, double softcap) {
  products_cpu(logits, hidden_RD, first, rows, weight_VD);
  if (softcap > 0) softcap_(logits.narrow(0, 0, rows), softcap);
}

struct Scored {
  at::Tensor stats_R4;
  at::Tensor logits;  // of the last chunk
};

Scored forward_cpu(const at::Tensor& hidden_RD, const Weight& weight_VD, const at::Tensor& ids_R, double temperature,
                   double softcap) {
  const int64_t v = weight_VD.n(), num_rows = hidden_RD.size(0);
  const auto inverse = static_cast<float>(1.0 / temperature);
  at::Tensor stats_R4 = at::empty({num_rows, kNumStats}, hidden_RD.options());
  at::Tensor logits = at::empty({std::min(num_rows, chunk_rows(v)), v}, hidden_RD.options());
  float* stats = stats_R4.mutable_data_ptr<float>();
  const int64_t* ids = ids_R.const_data_ptr<int64_t>();
  for (int64_t row = 0; row < num_rows; ++row) {
    require(ids[row] >= 0 && ids[row] < v, ErrorCode::kRange, "token_logprob: id: expected 0 to ", v - 1, ", got ",
            ids[row]);
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
      to[3] = kernels::logprob(found, data[row * v + ids[first + row]], inverse);
    });
  });
  return {stats_R4, logits};
}

// The gradients of all rows' results as two arrays, zero where autograd has none.
struct ResultGradients {
  at::Tensor logprob_R, entropy_R;

  ResultGradients(const variable_list& grads, int64_t num_rows, const at::TensorOptions& options)
      : logprob_R(grads[0].defined() ? grads[0].contiguous() : at::zeros({num_rows}, options)),
        entropy_R(grads[1].defined() ? grads[1].contiguous() : at::zeros({num_rows}, options)) {}

  kernels::RowGradients row(int64_t row, int64_t id) const {
    return {id, logprob_R.const_data_ptr<float>()[row], entropy_R.const_data_ptr<float>()[row]};
  }
};

// Replaces the chunk's logits by the gradients of what they were before the bound.
void logits_backward_cpu(const at::Tensor& logits, int64_t first, int64_t rows, const at::Tensor& ids_R,
                         const at::Tensor& stats_R4, const ResultGradients& grads, double temperature, double softcap) {
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
    kernels::row_backward(row_data, v, static_cast<float>(1.0 / temperature), {from[0], from[1], from[2]},
                          grads.row(first + row, ids[row]));
    if (capped == nullptr) return;
    for (int64_t i = 0; i < v; ++i) row_data[i] *= 1.0f - (capped[i] * inverse_cap) * (capped[i] * inverse_cap);
  });
}

// Rounds rows of V floats in place: each becomes V values of bf16 at its own beginning.
Bf16Rows round_in_place(float* values, int64_t rows, int64_t v) {
  constexpr int64_t kBlock = 4096;
  claim_items(rows, rows * v, [&](int64_t row) {
    uint16_t block[kBlock];
    float* const from = values + row * v;
    auto* const to = reinterpret_cast<std::byte*>(from);
    // What is written ends before what is read next begins.
    for (int64_t first = 0; first < v; first += kBlock) {
      const int64_t count = std::min(kBlock, v - first);
      kernels::round_to_bf16(block, from + first, count);
      std::memcpy(to + first * 2, block, static_cast<size_t>(count) * 2);
    }
    if (v % 2 != 0) std::memset(to + v * 2, 0, 2);
  });
  return {reinterpret_cast<const uint16_t*>(values), rows, v, 2 * v};
}

// A few thousand of the head's outputs at once: what is laid out by columns of them takes 5 MB rather than 50.
void head_weight_grad(float* weight_grad, const Bf16Rows& grad, const Bf16Rows& hidden) {
  constexpr int64_t kOutputs = 16384;
  for (int64_t first = 0; first < grad.k; first += kOutputs) {
    const Bf16Rows part = {grad.data + first, grad.m, std::min(kOutputs, grad.k - first), grad.stride};
    bf16_weight_grad(weight_grad + first * hidden.k, part, hidden, atens_helpers());
  }
}

// What the chunk's logit gradients, which are overwritten, give to the hidden states (overwritten) and to the weight
// (added); either may be null.
void head_backward_cpu(float* hidden_grad, float* weight_grad, const at::Tensor& logits_grad,
                       const at::Tensor& hidden_RD, int64_t first, int64_t rows, const Weight& head_VD) {
  const int64_t v = head_VD.n(), d = head_VD.k();
  float* const grad = logits_grad.mutable_data_ptr<float>();
  const float* const hidden = hidden_RD.const_data_ptr<float>() + first * d;
  if (head_VD.is_quant()) {
    if (hidden_grad != nullptr) quant_input_grad(hidden_grad + first * d, grad, rows, head_VD.quant);
    return;
  }
  const at::Tensor& weight_VD = head_VD.plain_NK;
  if (weight_VD.scalar_type() == at::kBFloat16) {
    const Bf16Rows grad_rows = round_in_place(grad, rows, v);
    if (hidden_grad != nullptr) {
      bf16_input_grad(hidden_grad + first * d, grad_rows, bits_of(weight_VD), d, atens_helpers());
    }
    if (weight_grad == nullptr) return;
    const at::Tensor rounded = rounded_rows(hidden_RD.narrow(0, first, rows));
    return head_weight_grad(weight_grad, grad_rows, rows_of(rounded, d));
  }
  if (hidden_grad != nullptr) {
    parallel_matmul(hidden_grad + first * d, d, {grad, v, 1}, {weight_VD.const_data_ptr<float>(), d, 1}, rows, d, v,
                    kernels::Start::kZero, nullptr);
  }
  if (weight_grad != nullptr) {
    parallel_matmul(weight_grad, d, {grad, 1, v}, {hidden, d, 1}, v, d, rows, kernels::Start::kSelf, nullptr);
  }
}

class TokenLogprobFunction : public torch::autograd::Function<TokenLogprobFunction> {
 public:
  // The weight's tensor, undefined for a quantised one, is an argument of its own, that autograd sees it.
  static variable_list forward(AutogradContext* context, const at::Tensor& hidden_RD,
                               const std::optional<at::Tensor>& plain_VD, const QuantWeight& quant,
                               const at::Tensor& ids_R, double temperature, double softcap) {
    const Weight weight_VD = plain_VD.has_value() ? Weight(*plain_VD) : Weight(quant);
    const auto [stats_R4, logits] = forward_cpu(hidden_RD, weight_VD, ids_R, temperature, softcap);
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
      logits_backward_cpu(logits, first, rows, ids_R, stats_R4, result_grads, temperature, softcap);
      head_backward_cpu(hidden_to, weight_to, logits, hidden_RD, first, rows, weight_VD);
    });
    if (weight_grad.defined()) weight_grad = gradient_result(weight_VD.plain_NK, weight_grad);
    return {hidden_grad, weight_grad, at::Tensor(), at::Tensor(), at::Tensor(), at::Tensor()};
  }
};

// ATen's ops by chunk; backward differentiates each chunk made once more.
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

void check(const at::Tensor& hidden_RD, const Weight& weight_VD, const at::Tensor& ids_R, double temperature) {
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
                           double temperature, double logit_softcap) {
  check(hidden_RD, weight_VD, ids_R, temperature);
  const at::Tensor& plain_VD = weight_VD.plain_NK;
  require(!weight_VD.is_quant() || is_cpu_f32(hidden_RD), ErrorCode::kDtype,
          "token_logprob: a quantised weight: expected hidden states in f32 on the CPU");
  if (!weight_VD.is_quant() && is_on_card(plain_VD)) {
    const auto [logprob_R, entropy_R] = card_token_logprob(hidden_RD, plain_VD, ids_R, temperature, logit_softcap);
    return {logprob_R, entropy_R};
  }
  if (!weight_VD.is_quant() && !is_cpu_f32(hidden_RD, plain_VD) && !is_cpu_bf16(hidden_RD, plain_VD)) {
    const variable_list results = ComposedFunction::apply(hidden_RD, plain_VD, ids_R, temperature, logit_softcap);
    return {results[0], results[1]};
  }
  const at::Tensor hidden = hidden_RD.contiguous(), ids = ids_R.contiguous();
  const auto plain = weight_VD.is_quant() ? std::nullopt : std::optional<at::Tensor>(plain_VD.contiguous());
  if (!needs_grad(hidden, plain_VD)) {
    const Weight weight = plain.has_value() ? Weight(*plain) : weight_VD;
    const auto [stats_R4, logits] = forward_cpu(hidden, weight, ids, temperature, logit_softcap);
    return {stats_R4.select(1, 3).contiguous(), stats_R4.select(1, 2).contiguous()};
  }
  const variable_list results =
      TokenLogprobFunction::apply(hidden, plain, weight_VD.quant, ids, temperature, logit_softcap);
  return {results[0], results[1]};
}

}  // namespace seekrl::ops
