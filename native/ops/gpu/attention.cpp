// The kernels of kernels/cuda/attention and of layer/rotate.h as differentiable ops. The way there is the kernel that
// generates, so that a row has its bits; the way back is that of spans.
#include "ops/gpu/attention.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <torch/csrc/autograd/custom_function.h>

#include <optional>

#include "ops/attention/saved_rule.h"
#include "ops/gpu/gpu.h"
#include "ops/gradient.h"
#include "ops/kernel_path.h"

namespace seekrl::ops {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// The call for queries and keys in `query` and `key`.
cuda::Rotate rotation(const at::Tensor& query_THC, const at::Tensor& key_TKC, const RotaryInputs& rotary) {
  const int64_t num_heads = query_THC.size(1), num_kv_heads = key_TKC.size(1), head_dim = query_THC.size(2);
  const bool rotates = rotary.cos_TF.defined();
  const auto part = [&](const at::Tensor& x, const at::Tensor& norm_C) -> cuda::ProjectedHeads {
    return {x.data_ptr(), x.size(1) * head_dim, nullptr, data_or_null(norm_C)};
  };
  return {.query = part(query_THC, rotary.q_norm_C),
          .key = part(key_TKC, rotary.k_norm_C),
          .value = part(key_TKC, {}),
          .keys = nullptr,
          .values = nullptr,
          .slots_T = nullptr,
          .rotary = {rotates ? rotary.cos_TF.const_data_ptr<float>() : nullptr,
                     rotates ? rotary.sin_TF.const_data_ptr<float>() : nullptr, rotates ? rotary.cos_TF.size(1) : 0},
          .num_tokens = query_THC.size(0),
          .num_heads = num_heads,
          .num_kv_heads = num_kv_heads,
          .head_dim = head_dim,
          .block_tokens = 0,
          .norm_epsilon = static_cast<float>(rotary.norm_eps),
          .norm_offset = static_cast<float>(rotary.norm_offset),
          .dtype = gpu_dtype(query_THC)};
}

RotatedHeads rotated(const at::Tensor& query_THC, const at::Tensor& key_TKC, const RotaryInputs& rotary) {
  const RotatedHeads to = {query_THC.clone(), key_TKC.clone()};
  require_launched(gpu().rotate(rotation(to.query_THC, to.key_TKC, rotary), stream_of(query_THC)));
  return to;
}

class GpuRotateFunction : public torch::autograd::Function<GpuRotateFunction> {
 public:
  static variable_list forward(AutogradContext* context, const at::Tensor& query_THC, const at::Tensor& key_TKC,
                               const std::optional<at::Tensor>& q_norm_C, const std::optional<at::Tensor>& /*k_norm_C*/,
                               const RotaryInputs& rotary) {
    const RotatedHeads to = rotated(query_THC, key_TKC, rotary);
    // What was turned is read again where there are norms.
    const bool has_norms = q_norm_C.has_value();
    context->save_for_backward({has_norms ? query_THC : at::Tensor(), has_norms ? key_TKC : at::Tensor(),
                                rotary.q_norm_C, rotary.k_norm_C, rotary.cos_TF, rotary.sin_TF});
    context->saved_data["eps"] = rotary.norm_eps;
    context->saved_data["offset"] = rotary.norm_offset;
    return {to.query_THC, to.key_TKC};
  }

  static variable_list backward(AutogradContext* context, variable_list grads) {
    const variable_list saved = context->get_saved_variables();
    const RotaryInputs rotary = {
        saved[2], saved[3], context->saved_data["eps"].toDouble(), context->saved_data["offset"].toDouble(),
        saved[4], saved[5]};
    const at::Tensor query_grad = grads[0].contiguous(), key_grad = grads[1].contiguous();
    at::Tensor query_to = at::empty_like(query_grad), key_to = at::empty_like(key_grad);
    const at::Tensor &query = saved[0].defined() ? saved[0] : query_grad,
                     &key = saved[1].defined() ? saved[1] : key_grad;
    const bool wants_norms = rotary.q_norm_C.defined() && context->needs_input_grad(2);
    at::Tensor q_norm_grad, k_norm_grad, scratch;
    if (wants_norms) {
      q_norm_grad = gradient_target(rotary.q_norm_C);
      k_norm_grad = gradient_target(rotary.k_norm_C);
      scratch = at::empty({gpu().rotate_gradient_scratch_floats(query.size(1), key.size(1), query.size(2))},
                          query.options().dtype(at::kFloat));
    }
    const auto part = [&](const at::Tensor& grad, const at::Tensor& to, const at::Tensor& norm) -> cuda::HeadGradients {
      return {grad.const_data_ptr(), grad.size(1) * grad.size(2), to.mutable_data_ptr(), nullptr,
              norm.defined() ? norm.mutable_data_ptr<float>() : nullptr};
    };
    const cuda::RotateGradient call = {.of = rotation(query, key, rotary),
                                       .query = part(query_grad, query_to, q_norm_grad),
                                       .key = part(key_grad, key_to, k_norm_grad),
                                       .value = {},
                                       .scratch = wants_norms ? scratch.mutable_data_ptr<float>() : nullptr};
    require_launched(gpu().rotate_gradient(call, stream_of(query)));
    if (wants_norms) {
      q_norm_grad = gradient_result(rotary.q_norm_C, q_norm_grad);
      k_norm_grad = gradient_result(rotary.k_norm_C, k_norm_grad);
    }
    return {query_to, key_to, q_norm_grad, k_norm_grad, at::Tensor()};
  }
};

struct Attended {
  at::Tensor out_THC, log_sum_HT;
};

cuda::SpanAttention span_call(const at::Tensor& query_THC, const at::Tensor& key_TKC, const at::Tensor& value_TKC,
                              const SpanTables& spans, const kernels::ScoreRule& rule, const Attended& to) {
  const auto part = [](const at::Tensor& x) -> cuda::SpanHeads { return {x.const_data_ptr(), x.size(1) * x.size(2)}; };
  return {.query_THC = part(query_THC),
          .key_TKC = part(key_TKC),
          .value_TKC = part(value_TKC),
          .out_THC = to.out_THC.mutable_data_ptr(),
          .log_sum_HT = to.log_sum_HT.mutable_data_ptr<float>(),
          .tiles = static_cast<const cuda::SpanTile*>(spans.tiles.const_data_ptr()),
          .num_tiles = spans.tiles.size(0),
          .path = spans.path.const_data_ptr<int32_t>(),
          .path_start_S = spans.path_start_S.const_data_ptr<int32_t>(),
          .position_T = spans.position_T.const_data_ptr<int32_t>(),
          .num_tokens = query_THC.size(0),
          .num_heads = query_THC.size(1),
          .num_kv_heads = key_TKC.size(1),
          .head_dim = query_THC.size(2),
          .scale = rule.scale,
          .softcap = rule.softcap,
          .window = rule.window,
          .dtype = gpu_dtype(query_THC)};
}

// Keys or values of the spans' paths in blocks: [blocks, K, kPathBlock, C].
at::Tensor in_blocks(const at::Tensor& x_TKC, const SpanTables& spans) {
  return x_TKC.view({-1, x_TKC.size(2)}).index_select(0, spans.block_heads);
}

Attended attend(const at::Tensor& query_THC, const at::Tensor& key_TKC, const at::Tensor& value_TKC,
                const SpanTables& spans, const kernels::ScoreRule& rule) {
  const int64_t num_tokens = query_THC.size(0), num_heads = query_THC.size(1), head_dim = query_THC.size(2);
  const auto floats = query_THC.options().dtype(at::kFloat);
  const Attended to = {at::empty_like(query_THC), at::empty({num_heads, num_tokens}, floats)};
  const at::Tensor keys = in_blocks(key_TKC, spans), values = in_blocks(value_TKC, spans);
  const cuda::PagedAttention call = {.out = to.out_THC.mutable_data_ptr(),
                                     .query = query_THC.const_data_ptr(),
                                     .keys = keys.const_data_ptr(),
                                     .values = values.const_data_ptr(),
                                     .tiles = static_cast<const cuda::AttentionTile*>(spans.row_tiles.const_data_ptr()),
                                     .block_table = spans.block_table.const_data_ptr<int32_t>(),
                                     .scratch = nullptr,
                                     .num_tiles = spans.row_tiles.size(0),
                                     .num_rows = num_tokens,
                                     .num_heads = num_heads,
                                     .num_kv_heads = key_TKC.size(1),
                                     .head_dim = head_dim,
                                     .table_stride = spans.block_table.size(1),
                                     .block_tokens = kPathBlock,
                                     .max_keys = spans.max_keys,
                                     .scale = rule.scale,
                                     .softcap = rule.softcap,
                                     .window = rule.window,
                                     .dtype = gpu_dtype(query_THC),
                                     .log_sum_HT = to.log_sum_HT.mutable_data_ptr<float>()};
  require_launched(gpu().prefill_attention(call, stream_of(query_THC)));
  return to;
}

class GpuSpanFunction : public torch::autograd::Function<GpuSpanFunction> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& query_THC, const at::Tensor& key_TKC,
                            const at::Tensor& value_TKC, const SpanTables& spans, const kernels::ScoreRule& rule) {
    const Attended to = attend(query_THC, key_TKC, value_TKC, spans, rule);
    context->save_for_backward({query_THC, key_TKC, value_TKC, to.out_THC, to.log_sum_HT, spans.tiles, spans.path,
                                spans.path_start_S, spans.viewers, spans.viewers_start_S, spans.position_T});
    save_rule(context, rule);
    return to.out_THC;
  }

  static variable_list backward(AutogradContext* context, variable_list grads) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor &query = saved[0], &key = saved[1], &value = saved[2], out_grad = grads[0].contiguous();
    const SpanTables spans = {.tiles = saved[5],
                              .path = saved[6],
                              .path_start_S = saved[7],
                              .viewers = saved[8],
                              .viewers_start_S = saved[9],
                              .position_T = saved[10],
                              .row_tiles = {},
                              .block_heads = {},
                              .block_table = {}};
    const kernels::ScoreRule rule = saved_rule(context);
    at::Tensor query_grad = at::empty_like(query), key_grad = at::empty_like(key), value_grad = at::empty_like(value),
               scratch_HT = at::empty_like(saved[4]);
    const cuda::SpanAttentionGradient call = {.of = span_call(query, key, value, spans, rule, {saved[3], saved[4]}),
                                              .out_grad_THC = out_grad.const_data_ptr(),
                                              .query_grad_THC = query_grad.mutable_data_ptr(),
                                              .key_grad_TKC = key_grad.mutable_data_ptr(),
                                              .value_grad_TKC = value_grad.mutable_data_ptr(),
                                              .scratch_HT = scratch_HT.mutable_data_ptr<float>(),
                                              .viewers = spans.viewers.const_data_ptr<int32_t>(),
                                              .viewers_start_S = spans.viewers_start_S.const_data_ptr<int32_t>()};
    require_launched(gpu().span_attention_gradient(call, stream_of(query)));
    return {query_grad, key_grad, value_grad, at::Tensor(), at::Tensor()};
  }
};

}  // namespace

RotatedHeads gpu_rotate(const at::Tensor& query_THC, const at::Tensor& key_TKC, const RotaryInputs& rotary) {
  if (!rotary.q_norm_C.defined() && !rotary.cos_TF.defined()) return {query_THC, key_TKC};
  const at::Tensor query = query_THC.contiguous(), key = key_TKC.contiguous();
  if (!needs_grad(query, key, rotary.q_norm_C)) return rotated(query, key, rotary);
  const auto optional = [](const at::Tensor& x) { return x.defined() ? std::optional(x) : std::nullopt; };
  const variable_list results =
      GpuRotateFunction::apply(query, key, optional(rotary.q_norm_C), optional(rotary.k_norm_C), rotary);
  return {results[0], results[1]};
}

at::Tensor gpu_span_attention(const at::Tensor& query_THC, const at::Tensor& key_TKC, const at::Tensor& value_TKC,
                              const SpanTables& spans, const kernels::ScoreRule& rule) {
  const at::Tensor query = query_THC.contiguous(), key = key_TKC.contiguous(), value = value_TKC.contiguous();
  if (needs_grad(query, key, value)) return GpuSpanFunction::apply(query, key, value, spans, rule);
  return attend(query, key, value, spans, rule).out_THC;
}

}  // namespace seekrl::ops
