// Span attention: our kernels over f32 tensors on the CPU, ATen's ops one span at a time elsewhere.
#include "ops/attention/span_attention.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/tanh.h>
#include <ATen/ops/zeros_like.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/error.h"
#include "kernels/attention.h"
#include "ops/attention/saved_rule.h"
#include "ops/attention/span_pairs.h"
#include "ops/attention/span_paths.h"
#include "ops/kernel_path.h"
#include "ops/parallel.h"
#include "ops/scratch.h"

namespace seekrl::ops {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

void check_attention(const at::Tensor& query_THC, const at::Tensor& key_TKC, const at::Tensor& value_TKC,
                     const Spans& spans) {
  require(query_THC.dim() == 3 && key_TKC.dim() == 3 && key_TKC.sizes() == value_TKC.sizes() &&
              query_THC.size(0) == key_TKC.size(0) && query_THC.size(2) == key_TKC.size(2) &&
              query_THC.size(1) % key_TKC.size(1) == 0,
          ErrorCode::kShape, "span_attention: expected query [T, H, C], key and value [T, K, C], got ",
          query_THC.sizes(), ", ", key_TKC.sizes(), ", ", value_TKC.sizes());
  check_spans(spans, query_THC.size(0));
}

// Consecutive positions of one span under one key head.
struct Piece {
  int64_t span;
  int64_t first;     // token of the batch
  int64_t count;     // of positions
  int64_t num_keys;  // of the first
  int64_t key_head;

  int64_t most_keys() const { return num_keys + count - 1; }
};

// Long pieces first, so that the last ones claimed are short. positions <= 0: whole spans.
std::vector<Piece> cut(const Spans& spans, const Round& round, int64_t num_key_heads, int64_t positions) {
  const std::vector<int64_t> before = depths(spans);
  std::vector<Piece> pieces;
  for (int64_t span = round.first_span; span < round.end_span; ++span) {
    const int64_t start = spans.starts[span], length = spans.length(span);
    const int64_t step = positions > 0 ? positions : std::max<int64_t>(length, 1);
    for (int64_t first = 0; first < length; first += step) {
      const int64_t count = std::min(step, length - first);
      for (int64_t head = 0; head < num_key_heads; ++head) {
        pieces.push_back({span, start + first, count, before[span] + first + 1, head});
      }
    }
  }
  std::stable_sort(pieces.begin(), pieces.end(),
                   [](const Piece& a, const Piece& b) { return a.most_keys() * a.count > b.most_keys() * b.count; });
  return pieces;
}

// Multiply-adds of all rows together.
int64_t work_of(const std::vector<Piece>& pieces, int64_t row_width) {
  int64_t scores = 0;
  for (const Piece& piece : pieces) scores += piece.most_keys() * piece.count;
  return scores * row_width * 2;
}

// The inputs and results of one call.
struct Call {
  const at::Tensor &query_THC, &key_TKC, &value_TKC;
  const Spans& spans;
  const ScoreRule& rule;
  at::Tensor out_THC, log_sum_exp_KTG;

  int64_t num_key_heads() const { return key_TKC.size(1); }
  int64_t group() const { return query_THC.size(1) / key_TKC.size(1); }
  int64_t head_dim() const { return query_THC.size(2); }
  int64_t key_row() const { return num_key_heads() * head_dim(); }

  int64_t query_offset(const Piece& piece) const {
    return (piece.first * query_THC.size(1) + piece.key_head * group()) * head_dim();
  }
  kernels::QueryRows rows(const Piece& piece) const {
    const int64_t offset = query_offset(piece);
    return {.out = out_THC.mutable_data_ptr<float>() + offset,
            .query = query_THC.const_data_ptr<float>() + offset,
            .num_positions = piece.count,
            .num_heads = group(),
            .position_stride = query_THC.size(1) * head_dim(),
            .head_stride = head_dim(),
            .num_keys = piece.num_keys};
  }
  float* log_sum_exp(const Piece& piece) const {
    return log_sum_exp_KTG.mutable_data_ptr<float>() + (piece.key_head * query_THC.size(0) + piece.first) * group();
  }
};

// The keys and values of one round's spans: the batch's own, and the copied paths of those that continue others.
struct RoundKeys {
  const Call& call;
  const Round& round;
  at::Tensor keys_NKC = copy_paths(call.key_TKC, call.spans, round);
  at::Tensor values_NKC = copy_paths(call.value_TKC, call.spans, round);

  // Where the first key of a piece lies, in a tensor like the batch's keys or one like the copies.
  float* of(const Piece& piece, const at::Tensor& batch_TKC, const at::Tensor& paths_NKC) const {
    const int64_t offset = round.offset(piece.span);
    const at::Tensor& x = offset < 0 ? batch_TKC : paths_NKC;
    const int64_t token = offset < 0 ? call.spans.starts[piece.span] : offset;
    return x.mutable_data_ptr<float>() + token * call.key_row() + piece.key_head * call.head_dim();
  }
  kernels::KeyValues source(const Piece& piece) const {
    return {.keys = of(piece, call.key_TKC, keys_NKC),
            .values = of(piece, call.value_TKC, values_NKC),
            .token_stride = call.key_row()};
  }
};

void attend_f32(const Call& call, const Round& round, const std::vector<Piece>& pieces, int64_t work) {
  const RoundKeys keys{call, round};
  claim_items(static_cast<int64_t>(pieces.size()), work, [&](int64_t item) {
    const Piece& piece = pieces[item];
    kernels::attend(
        call.rows(piece), keys.source(piece), call.head_dim(), call.rule, call.log_sum_exp(piece),
        scratch<float, Scratch::kScores>(kernels::attend_scratch_floats(piece.most_keys(), call.head_dim())));
  });
}

void attend_bf16(const Call& call, const Round& round, const std::vector<Piece>& pieces, int64_t work) {
  const PairedSpans keys = pair_spans(call.key_TKC, call.value_TKC, call.spans, round);
  claim_items(static_cast<int64_t>(pieces.size()), work, [&](int64_t item) {
    const Piece& piece = pieces[item];
    kernels::attend_bf16(
        call.rows(piece), keys.source(piece.span, piece.key_head), call.head_dim(), call.rule, call.log_sum_exp(piece),
        scratch<float, Scratch::kScores>(kernels::attend_scratch_floats(piece.most_keys(), call.head_dim())));
  });
}

Call forward_cpu(const at::Tensor& query_THC, const at::Tensor& key_TKC, const at::Tensor& value_TKC,
                 const Spans& spans, const ScoreRule& rule, at::ScalarType dtype) {
  const int64_t num_key_heads = key_TKC.size(1), group = query_THC.size(1) / num_key_heads;
  const Call call = {query_THC,
                     key_TKC,
                     value_TKC,
                     spans,
                     rule,
                     at::empty_like(query_THC),
                     at::empty({num_key_heads, query_THC.size(0), group}, query_THC.options())};
  for (const Round& round : rounds_of(spans)) {
    // A few tiles of 48 rows each.
    const std::vector<Piece> pieces = cut(spans, round, num_key_heads, std::max<int64_t>(1, 192 / group));
    const int64_t work = work_of(pieces, group * call.head_dim());
    (dtype == at::kBFloat16 ? attend_bf16 : attend_f32)(call, round, pieces, work);
  }
  return call;
}

struct Gradients {
  at::Tensor query_THC, key_TKC, value_TKC;
};

Gradients backward_cpu(const Call& call, const at::Tensor& out_grad_THC) {
  const Gradients to = {at::empty_like(call.query_THC), at::zeros_like(call.key_TKC), at::zeros_like(call.value_TKC)};
  const int64_t head_dim = call.head_dim();
  for (const Round& round : rounds_of(call.spans)) {
    const RoundKeys keys{call, round};
    const at::Tensor key_paths = round.num_copied > 0 ? at::zeros_like(keys.keys_NKC) : at::Tensor();
    const at::Tensor value_paths = round.num_copied > 0 ? at::zeros_like(keys.values_NKC) : at::Tensor();
    // One thread owns all of a span's key gradients under one key head.
    const std::vector<Piece> pieces = cut(call.spans, round, call.num_key_heads(), 0);
    claim_items(static_cast<int64_t>(pieces.size()), work_of(pieces, call.group() * head_dim) * 2, [&](int64_t item) {
      const Piece& piece = pieces[item];
      const int64_t offset = call.query_offset(piece);
      const kernels::AttentionGradients gradients = {.out_grad = out_grad_THC.const_data_ptr<float>() + offset,
                                                     .log_sum_exp = call.log_sum_exp(piece),
                                                     .query_grad = to.query_THC.mutable_data_ptr<float>() + offset,
                                                     .key_grad = keys.of(piece, to.key_TKC, key_paths),
                                                     .value_grad = keys.of(piece, to.value_TKC, value_paths)};
      kernels::attend_backward(
          call.rows(piece), keys.source(piece), gradients, head_dim, call.rule,
          scratch<float, Scratch::kScores>(kernels::attend_backward_scratch_floats(piece.most_keys(), head_dim)));
    });
    add_paths(to.key_TKC, key_paths, call.spans, round);
    add_paths(to.value_TKC, value_paths, call.spans, round);
  }
  return to;
}

class SpanAttentionFunction : public torch::autograd::Function<SpanAttentionFunction> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& query_THC, const at::Tensor& key_TKC,
                            const at::Tensor& value_TKC, const Spans& spans, const ScoreRule& rule,
                            at::ScalarType dtype) {
    const Call call = forward_cpu(query_THC, key_TKC, value_TKC, spans, rule, dtype);
    context->save_for_backward(
        {query_THC.to(dtype), key_TKC.to(dtype), value_TKC.to(dtype), call.out_THC, call.log_sum_exp_KTG});
    context->saved_data["starts"] = spans.starts;
    context->saved_data["parents"] = spans.parents;
    save_rule(context, rule);
    return call.out_THC;
  }

  static variable_list backward(AutogradContext* context, variable_list grads) {
    const variable_list saved = context->get_saved_variables();
    const Spans spans = {context->saved_data["starts"].toIntVector(), context->saved_data["parents"].toIntVector()};
    const ScoreRule rule = saved_rule(context);
    const at::Tensor query = saved[0].to(at::kFloat), key = saved[1].to(at::kFloat), value = saved[2].to(at::kFloat);
    const Gradients to = backward_cpu({query, key, value, spans, rule, saved[3], saved[4]}, grads[0].contiguous());
    return {to.query_THC, to.key_TKC, to.value_TKC, at::Tensor(), at::Tensor(), at::Tensor()};
  }
};

at::Tensor heads_first(const at::Tensor& x_NHC) { return x_NHC.transpose(0, 1).unsqueeze(0); }

// Which of N tokens each of the last Q sees, [Q, N].
at::Tensor seen_by(int64_t num_queries, int64_t num_keys, int64_t window, at::Device device) {
  const int64_t last = num_keys - num_queries;
  const at::Tensor seen = at::ones({num_queries, num_keys}, at::device(device).dtype(at::kBool)).tril(last);
  return window > 0 ? seen.triu(last - window + 1) : seen;
}

at::Tensor rows_of(const at::Tensor& x_TKC, const std::vector<Run>& path) {
  std::vector<at::Tensor> runs;
  for (const auto& [start, length] : path) runs.push_back(x_TKC.narrow(0, start, length));
  return at::cat(runs, 0);
}

at::Tensor composition(const at::Tensor& query_THC, const at::Tensor& key_TKC, const at::Tensor& value_TKC,
                       const Spans& spans, const ScoreRule& rule) {
  std::vector<at::Tensor> outs;
  for (int64_t span = 0; span < spans.count(); ++span) {
    const std::vector<Run> keys = path(spans, span);
    outs.push_back(
        composed_attention(rows_of(query_THC, {keys.back()}), rows_of(key_TKC, keys), rows_of(value_TKC, keys), rule));
  }
  return at::cat(outs, 0);
}

}  // namespace

at::Tensor span_attention(const at::Tensor& query_THC, const at::Tensor& key_TKC, const at::Tensor& value_TKC,
                          const Spans& spans, const ScoreRule& rule, at::ScalarType dtype) {
  check_attention(query_THC, key_TKC, value_TKC, spans);
  if (query_THC.size(0) == 0) return query_THC;
  if (!is_cpu_f32(query_THC, key_TKC, value_TKC)) return composition(query_THC, key_TKC, value_TKC, spans, rule);
  const at::Tensor query = query_THC.contiguous(), key = key_TKC.contiguous(), value = value_TKC.contiguous();
  if (needs_grad(query, key, value)) return SpanAttentionFunction::apply(query, key, value, spans, rule, dtype);
  return forward_cpu(query, key, value, spans, rule, dtype).out_THC;
}

at::Tensor composed_attention(const at::Tensor& query_QHC, const at::Tensor& key_NKC, const at::Tensor& value_NKC,
                              const ScoreRule& rule) {
  const int64_t num_queries = query_QHC.size(0), num_keys = key_NKC.size(0);
  const at::Tensor query = heads_first(query_QHC), key = heads_first(key_NKC), value = heads_first(value_NKC);
  const at::Tensor seen_QN = seen_by(num_queries, num_keys, rule.window, query.device());
  if (rule.softcap == 0) {
    const at::Tensor out = at::scaled_dot_product_attention(query, key, value, seen_QN, 0.0, /*is_causal=*/false,
                                                            rule.scale, /*enable_gqa=*/true);
    return out.squeeze(0).transpose(0, 1);
  }
  const int64_t group = query.size(1) / key.size(1);
  const at::Tensor scores = at::matmul(query, key.repeat_interleave(group, 1).transpose(2, 3)) * rule.scale;
  const at::Tensor capped = at::tanh(scores / rule.softcap) * rule.softcap;
  const at::Tensor weights = at::softmax(capped.masked_fill(seen_QN.logical_not(), -INFINITY), -1);
  return at::matmul(weights, value.repeat_interleave(group, 1)).squeeze(0).transpose(0, 1);
}

}  // namespace seekrl::ops
