// Span attention: our kernels for f32 on the CPU, ATen's flash attention one span at a time elsewhere.
#include "ops/span_attention.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "kernels/attention.h"
#include "ops/kernel_path.h"
#include "ops/parallel.h"

namespace seekrl::ops {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

void check(const at::Tensor& query_THC, const at::Tensor& key_TKC, const at::Tensor& value_TKC,
           const std::vector<int64_t>& span_starts) {
  require(query_THC.dim() == 3 && key_TKC.dim() == 3 && key_TKC.sizes() == value_TKC.sizes() &&
              query_THC.size(0) == key_TKC.size(0) && query_THC.size(2) == key_TKC.size(2) &&
              query_THC.size(1) % key_TKC.size(1) == 0,
          ErrorCode::kShape, "span_attention: expected query [T, H, C], key and value [T, K, C], got ",
          query_THC.sizes(), ", ", key_TKC.sizes(), ", ", value_TKC.sizes());
  require(!span_starts.empty() && span_starts.front() == 0 && span_starts.back() == query_THC.size(0) &&
              std::is_sorted(span_starts.begin(), span_starts.end()),
          ErrorCode::kShape, "span_attention: expected ascending span starts from 0 to ", query_THC.size(0));
}

// Consecutive positions of one span under one key head.
struct Piece {
  int64_t span_start, first, count, key_head;
};

// Long pieces first, so that the last ones claimed are short. positions <= 0: whole spans.
std::vector<Piece> cut(const std::vector<int64_t>& span_starts, int64_t num_key_heads, int64_t positions) {
  std::vector<Piece> pieces;
  for (size_t s = 0; s + 1 < span_starts.size(); ++s) {
    const int64_t start = span_starts[s], length = span_starts[s + 1] - start;
    const int64_t step = positions > 0 ? positions : std::max<int64_t>(length, 1);
    for (int64_t first = 0; first < length; first += step) {
      for (int64_t head = 0; head < num_key_heads; ++head) {
        pieces.push_back({start, first, std::min(step, length - first), head});
      }
    }
  }
  std::stable_sort(pieces.begin(), pieces.end(), [](const Piece& a, const Piece& b) {
    return (a.first + a.count) * a.count > (b.first + b.count) * b.count;
  });
  return pieces;
}

// Pointers and strides of one call.
struct Layout {
  int64_t num_tokens, num_heads, num_key_heads, head_dim, group;
  const float *query, *keys, *values;
  float* out;
  float* log_sum_exp;  // [K, T, G]

  Layout(const at::Tensor& query_THC, const at::Tensor& key_TKC, const at::Tensor& value_TKC, const at::Tensor& out_THC,
         const at::Tensor& log_sum_exp_KTG)
      : num_tokens(query_THC.size(0)),
        num_heads(query_THC.size(1)),
        num_key_heads(key_TKC.size(1)),
        head_dim(query_THC.size(2)),
        group(num_heads / num_key_heads),
        query(query_THC.const_data_ptr<float>()),
        keys(key_TKC.const_data_ptr<float>()),
        values(value_TKC.const_data_ptr<float>()),
        out(out_THC.mutable_data_ptr<float>()),
        log_sum_exp(log_sum_exp_KTG.mutable_data_ptr<float>()) {}

  float scale() const { return static_cast<float>(1.0 / std::sqrt(static_cast<double>(head_dim))); }
  int64_t query_offset(const Piece& piece) const {
    return ((piece.span_start + piece.first) * num_heads + piece.key_head * group) * head_dim;
  }
  int64_t key_offset(const Piece& piece) const {
    return (piece.span_start * num_key_heads + piece.key_head) * head_dim;
  }
  kernels::QueryRows rows(const Piece& piece) const {
    const int64_t offset = query_offset(piece);
    return {out + offset, query + offset, piece.count, group, num_heads * head_dim, head_dim, piece.first + 1};
  }
  kernels::KeyValues source(const Piece& piece) const {
    const int64_t offset = key_offset(piece);
    return {keys + offset, values + offset, nullptr, 0, 0, num_key_heads * head_dim};
  }
  float* piece_log_sum_exp(const Piece& piece) const {
    return log_sum_exp + (piece.key_head * num_tokens + piece.span_start + piece.first) * group;
  }
};

// Multiply-adds of all rows together.
int64_t work_of(const std::vector<Piece>& pieces, const Layout& layout) {
  int64_t scores = 0;
  for (const Piece& piece : pieces) scores += (piece.first + piece.count) * piece.count;
  return scores * layout.group * layout.head_dim * 2;
}

struct Attended {
  at::Tensor out_THC, log_sum_exp_KTG;
};

Attended forward_cpu(const at::Tensor& query_THC, const at::Tensor& key_TKC, const at::Tensor& value_TKC,
                     const std::vector<int64_t>& span_starts) {
  const int64_t num_key_heads = key_TKC.size(1), group = query_THC.size(1) / num_key_heads;
  Attended attended = {at::empty_like(query_THC),
                       at::empty({num_key_heads, query_THC.size(0), group}, query_THC.options())};
  const Layout layout(query_THC, key_TKC, value_TKC, attended.out_THC, attended.log_sum_exp_KTG);
  // A few tiles of 48 rows each.
  const std::vector<Piece> pieces = cut(span_starts, num_key_heads, std::max<int64_t>(1, 192 / group));
  claim_items(static_cast<int64_t>(pieces.size()), work_of(pieces, layout), [&](int64_t item) {
    const Piece& piece = pieces[item];
    kernels::attend(layout.rows(piece), layout.source(piece), layout.head_dim, layout.scale(),
                    layout.piece_log_sum_exp(piece),
                    scratch(kernels::attend_scratch_floats(piece.first + piece.count, layout.head_dim)));
  });
  return attended;
}

class SpanAttentionFunction : public torch::autograd::Function<SpanAttentionFunction> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& query_THC, const at::Tensor& key_TKC,
                            const at::Tensor& value_TKC, const std::vector<int64_t>& span_starts) {
    const Attended attended = forward_cpu(query_THC, key_TKC, value_TKC, span_starts);
    context->save_for_backward({query_THC, key_TKC, value_TKC, attended.out_THC, attended.log_sum_exp_KTG});
    context->saved_data["span_starts"] = span_starts;
    return attended.out_THC;
  }

  static variable_list backward(AutogradContext* context, variable_list grads) {
    const variable_list saved = context->get_saved_variables();
    const std::vector<int64_t> span_starts = context->saved_data["span_starts"].toIntVector();
    const at::Tensor out_grad = grads[0].contiguous();
    at::Tensor query_grad = at::empty_like(saved[0]), key_grad = at::zeros_like(saved[1]),
               value_grad = at::zeros_like(saved[2]);
    const Layout layout(saved[0], saved[1], saved[2], saved[3], saved[4]);
    // One thread owns all of a span's key gradients under one key head.
    const std::vector<Piece> pieces = cut(span_starts, layout.num_key_heads, 0);
    float *query_to = query_grad.mutable_data_ptr<float>(), *key_to = key_grad.mutable_data_ptr<float>(),
          *value_to = value_grad.mutable_data_ptr<float>();
    claim_items(static_cast<int64_t>(pieces.size()), work_of(pieces, layout) * 2, [&](int64_t item) {
      const Piece& piece = pieces[item];
      const int64_t query_offset = layout.query_offset(piece), key_offset = layout.key_offset(piece);
      const kernels::AttentionGradients gradients = {out_grad.const_data_ptr<float>() + query_offset,
                                                     layout.piece_log_sum_exp(piece), query_to + query_offset,
                                                     key_to + key_offset, value_to + key_offset};
      kernels::attend_backward(layout.rows(piece), layout.source(piece), gradients, layout.head_dim, layout.scale(),
                               scratch(kernels::attend_backward_scratch_floats(piece.count, layout.head_dim)));
    });
    return {query_grad, key_grad, value_grad, at::Tensor()};
  }
};

// [T, H, C] rows of one span -> [1, H, S, C], the layout ATen attends over.
at::Tensor heads_first(const at::Tensor& x_THC, int64_t start, int64_t length) {
  return x_THC.narrow(0, start, length).transpose(0, 1).unsqueeze(0);
}

at::Tensor composition(const at::Tensor& query_THC, const at::Tensor& key_TKC, const at::Tensor& value_TKC,
                       const std::vector<int64_t>& span_starts) {
  std::vector<at::Tensor> spans;
  for (size_t s = 0; s + 1 < span_starts.size(); ++s) {
    const int64_t start = span_starts[s], length = span_starts[s + 1] - start;
    const at::Tensor out = at::scaled_dot_product_attention(
        heads_first(query_THC, start, length), heads_first(key_TKC, start, length),
        heads_first(value_TKC, start, length), {}, 0.0, /*is_causal=*/true, std::nullopt, /*enable_gqa=*/true);
    spans.push_back(out.squeeze(0).transpose(0, 1));
  }
  return at::cat(spans, 0);
}

}  // namespace

at::Tensor span_attention(const at::Tensor& query_THC, const at::Tensor& key_TKC, const at::Tensor& value_TKC,
                          const std::vector<int64_t>& span_starts) {
  check(query_THC, key_TKC, value_TKC, span_starts);
  if (query_THC.size(0) == 0) return query_THC;
  if (!is_cpu_f32(query_THC, key_TKC, value_TKC)) return composition(query_THC, key_TKC, value_TKC, span_starts);
  const at::Tensor query = query_THC.contiguous(), key = key_TKC.contiguous(), value = value_TKC.contiguous();
  if (needs_grad(query, key, value)) return SpanAttentionFunction::apply(query, key, value, span_starts);
  return forward_cpu(query, key, value, span_starts).out_THC;
}

}  // namespace seekrl::ops
