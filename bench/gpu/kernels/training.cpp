// A training step of one layer, forward and backward, over packed texts; attention's gradients alone; the loss over the
// vocabulary.
#include <algorithm>
#include <array>
#include <vector>

#include "model.h"

namespace seekrl::bench {

using cuda::Dtype;
using cuda::ProductForm;

namespace {

// What goes back through a product out [M, N] = x [M, K] w [N, K]^T: the input's gradient in 16 bits, the weight's
// added to f32 sums. `adds`: input_grad has the part of another product of the same x.
void add_backward(Calls& calls, Dtype dtype, void* input_grad, float* weight_grad, const void* out_grad, const void* x,
                  const void* w, int64_t m, int64_t n, int64_t k, bool adds = false) {
  const cuda::Product of_input = {input_grad, out_grad, w,   nullptr, k, n, k, m, k, n, ProductForm::kInputGradient,
                                  dtype,      dtype,    adds};
  SEEKRL_ADD(calls, product, of_input);
  const cuda::Product of_weight = {
      weight_grad, out_grad, x, nullptr, k, n, k, n, k, m, ProductForm::kWeightGradient, dtype, Dtype::kFloat, true};
  SEEKRL_ADD(calls, product, of_weight);
}

struct LayerGradients {
  LayerGradients(Memory& memory, const Model& model, int64_t num_rows)
      : first_norm(memory.empty<float>(model.hidden)),
        second_norm(memory.empty<float>(model.hidden)),
        qkv_weight(memory.empty<float>(model.qkv_width() * model.hidden)),
        out_weight(memory.empty<float>(model.query_width() * model.hidden)),
        gate_up_weight(memory.empty<float>(2 * model.inner * model.hidden)),
        down_weight(memory.empty<float>(model.inner * model.hidden)),
        bias(memory.empty<float>(model.qkv_width())),
        residual(memory.floats(num_rows * model.hidden)),
        out(memory.numbers(model.dtype, num_rows * model.hidden)),
        normed(memory.poisoned(model.dtype, num_rows * model.hidden)),
        gated(memory.poisoned(model.dtype, num_rows * model.inner)),
        gate_up(memory.poisoned(model.dtype, num_rows * 2 * model.inner)),
        attended(memory.poisoned(model.dtype, num_rows * model.query_width())),
        query(memory.poisoned(model.dtype, num_rows * model.query_width())),
        keys_and_values(memory.poisoned(model.dtype, num_rows * 2 * model.key_width())),
        norm_scratch(memory.empty<float>(cuda::norm_gradient_scratch_floats(model.hidden))),
        rotate_scratch(memory.empty<float>(
            cuda::rotate_gradient_scratch_floats(model.num_heads, model.num_kv_heads, model.head_dim))),
        span_scratch(memory.empty<float>(num_rows * model.num_heads)) {}
  float *first_norm, *second_norm, *qkv_weight, *out_weight, *gate_up_weight, *down_weight, *bias, *residual;
  void *out, *normed, *gated, *gate_up, *attended, *query, *keys_and_values;
  float *norm_scratch, *rotate_scratch, *span_scratch;
};

void add_norm_backward(Calls& calls, Dtype dtype, const LayerGradients& grads, float* weight_grad,
                       const float* residual, const float* scale, const void* weight, int64_t num_rows, int64_t width) {
  const cuda::NormGradient call = {grads.residual, weight_grad, grads.norm_scratch, grads.normed, residual,
                                   scale,          weight,      num_rows,           width,        0,
                                   dtype};
  SEEKRL_ADD(calls, norm_gradient, call);
}

void add_attention_backward(Calls& calls, const Model& model, const LayerWeights& weights, const LayerRows& rows,
                            const Texts& texts, const Projected& projections, const LayerGradients& grads) {
  const Projected to = projected(model, grads.query, grads.keys_and_values, texts.num_tokens);
  const cuda::SpanAttentionGradient attention = {.of = texts.attention(model, projections, rows.attended),
                                                 .out_grad_THC = grads.attended,
                                                 .query_grad_THC = to.query,
                                                 .key_grad_TKC = to.key,
                                                 .value_grad_TKC = to.value,
                                                 .scratch_HT = grads.span_scratch,
                                                 .viewers = texts.viewers,
                                                 .viewers_start_S = texts.viewers_start};
  SEEKRL_ADD(calls, span_attention_gradient, attention);
  const int64_t heads = model.query_width();
  const cuda::RotateGradient rotation = {
      texts.rotation(model, projections, weights.qkv_bias),
      {to.query, to.query_stride, to.query, grads.bias, nullptr},
      {to.key, to.stride, to.key, grads.bias + heads, nullptr},
      {to.value, to.stride, to.value, grads.bias + heads + model.key_width(), nullptr},
      grads.rotate_scratch};
  SEEKRL_ADD(calls, rotate_gradient, rotation);
}

// The three parts of grads.normed are rounded as they are summed, as autograd does it; that has two more launches of
// its own, and moves 4 bytes more for each number that it adds.
void add_projections_backward(Calls& run, const Model& model, const LayerWeights& weights, const LayerRows& rows,
                              const LayerGradients& grads) {
  const Projected from = projected(model, grads.query, grads.keys_and_values, rows.num_rows);
  const auto* const w = static_cast<const uint16_t*>(weights.qkv);
  const int64_t d = model.hidden, queries = model.query_width(), keys = model.key_width();
  const auto add = [&](const uint16_t* out_grad, int64_t first, int64_t width) {
    add_backward(run, model.dtype, grads.normed, grads.qkv_weight + first * d, out_grad, rows.normed, w + first * d,
                 rows.num_rows, width, d, first > 0);
  };
  add(from.query, 0, queries);
  add(from.key, queries, keys);
  add(from.value, queries + keys, keys);
}

// From the gradient of the block's output to that of its input, and of every weight.
void add_layer_backward(Calls& run, const Model& model, const LayerWeights& weights, const LayerRows& rows,
                        const Texts& texts, const Projected& projections, const LayerGradients& grads,
                        const float* residual) {
  const int64_t t = texts.num_tokens, d = model.hidden, inner = model.inner;
  add_backward(run, model.dtype, grads.gated, grads.down_weight, grads.out, rows.gated, weights.down, t, d, inner);
  const auto* const up = static_cast<const uint16_t*>(rows.gate_up) + inner;
  auto* const up_grad = static_cast<uint16_t*>(grads.gate_up) + inner;
  const cuda::GateMulGradient gate = {grads.gate_up, up_grad,   grads.gated,       rows.gate_up, up, t,
                                      inner,         2 * inner, cuda::Gate::kSilu, model.dtype};
  SEEKRL_ADD(run, gate_mul_gradient, gate);
  add_backward(run, model.dtype, grads.normed, grads.gate_up_weight, grads.gate_up, rows.second_normed, weights.gate_up,
               t, 2 * inner, d);
  add_norm_backward(run, model.dtype, grads, grads.second_norm, rows.middle, rows.second_scale, weights.second_norm, t,
                    d);
  add_backward(run, model.dtype, grads.attended, grads.out_weight, grads.out, rows.attended, weights.out, t, d,
               model.query_width());
  add_attention_backward(run, model, weights, rows, texts, projections, grads);
  add_projections_backward(run, model, weights, rows, grads);
  add_norm_backward(run, model.dtype, grads, grads.first_norm, residual, rows.first_scale, weights.first_norm, t, d);
}

struct LossShape {
  int64_t rows, chunk, hidden, vocab_size;
  Dtype dtype;
};

// What a loss over the head reads and writes: x [R, D] and its gradient, w [V, D] and its, rows' figures [R].
struct LossBuffers {
  LossBuffers(Memory& memory, const LossShape& shape)
      : x(memory.numbers(shape.dtype, shape.rows * shape.hidden)),
        w(weight_of(memory, shape.dtype, shape.vocab_size, shape.hidden)),
        x_grad(memory.poisoned(shape.dtype, shape.rows * shape.hidden)),
        w_grad(memory.empty<float>(shape.vocab_size * shape.hidden)),
        stride((shape.vocab_size + 7) / 8 * 8),
        logits(memory.floats(shape.chunk * stride)),
        logprob(memory.floats(shape.rows)),
        entropy(memory.floats(shape.rows)),
        max(memory.floats(shape.rows)),
        log_sum(memory.floats(shape.rows)),
        logprob_grad(memory.floats(shape.rows)),
        entropy_grad(memory.floats(shape.rows, 0.1f)) {
    std::vector<int64_t> each(shape.rows);
    for (int64_t r = 0; r < shape.rows; ++r) each[r] = r * 7919 % shape.vocab_size;
    ids = memory.copy_of(each);
  }

  const void *x, *w;
  void* x_grad;
  float* w_grad;
  int64_t stride;  // of a row of logits
  float *logits, *logprob, *entropy, *max, *log_sum;
  const float *logprob_grad, *entropy_grad;
  const int64_t* ids;
};

// Logits of a chunk of rows, [count, V] rows of them from `first`, stand in one buffer, then their gradients in their
// place: each row begins where it did, 16-bit numbers twice as far apart.
void add_loss_chunk(Calls& run, const LossShape& shape, const LossBuffers& own, int64_t first, int64_t count) {
  const int64_t d = shape.hidden, v = shape.vocab_size;
  const auto* const x = static_cast<const uint16_t*>(own.x) + first * d;
  auto* const x_grad = static_cast<uint16_t*>(own.x_grad) + first * d;
  const auto add = [&](ProductForm form, void* out, const void* left, const void* right, std::array<int64_t, 3> strides,
                       std::array<int64_t, 3> sizes, Dtype out_dtype) {
    const auto [m, n, k] = sizes;
    const bool is_added = form == ProductForm::kWeightGradient;
    const cuda::Product call = {out, left, right, nullptr, strides[0],  strides[1], strides[2],
                                m,   n,    k,     form,    shape.dtype, out_dtype,  is_added};
    SEEKRL_ADD(run, product, call);
  };
  add(ProductForm::kForward, own.logits, x, own.w, {own.stride, d, d}, {count, v, d}, Dtype::kFloat);
  const cuda::LogitRows rows = {own.logits, own.ids + first, count, v, own.stride, 1, 0};
  const cuda::RowScores scores = {own.logprob + first, own.entropy + first, own.max + first, own.log_sum + first};
  SEEKRL_ADD(run, score_logits, scores, rows);
  const cuda::ScoreGradients gradients = {own.logprob_grad + first, own.entropy_grad + first};
  SEEKRL_ADD(run, logit_gradients, rows, scores, gradients, shape.dtype);
  add(ProductForm::kInputGradient, x_grad, own.logits, own.w, {d, 2 * own.stride, d}, {count, d, v}, shape.dtype);
  add(ProductForm::kWeightGradient, own.w_grad, own.logits, x, {d, 2 * own.stride, d}, {v, d, count}, Dtype::kFloat);
}

Prepared prepare_loss(Memory& memory, const LossShape& shape) {
  const LossBuffers own(memory, shape);
  Calls run;
  for (int64_t first = 0; first < shape.rows; first += shape.chunk) {
    add_loss_chunk(run, shape, own, first, std::min(shape.chunk, shape.rows - first));
  }
  return {run,
          {{"logprob", own.logprob, shape.rows, Kind::kFloat, 1e-3},
           {"entropy", own.entropy, shape.rows, Kind::kFloat, 1e-3},
           {"x_grad", own.x_grad, shape.rows * shape.hidden, kind_of(shape.dtype), 2e-2},
           {"w_grad", own.w_grad, shape.vocab_size * shape.hidden, Kind::kFloat, 2e-2}}};
}

// The gradients of attention of one layer.
Prepared prepare_attention_gradient(Memory& memory, const Model& model, int64_t num_texts, int64_t length) {
  const Texts texts(memory, model, num_texts, length, true);
  const int64_t t = texts.num_tokens;
  const LayerRows rows(memory, model, t);
  const LayerGradients grads(memory, model, t);
  const Projected at = projected(model, memory.numbers(model.dtype, t * model.qkv_width()));
  const Projected to = projected(model, memory.poisoned(model.dtype, t * model.qkv_width()));
  void* const out_grad = memory.numbers(model.dtype, t * model.query_width());
  const cuda::SpanAttention forward = texts.attention(model, at, rows.attended);
  require(cuda::span_attention(forward, nullptr));
  const cuda::SpanAttentionGradient gradient = {.of = forward,
                                                .out_grad_THC = out_grad,
                                                .query_grad_THC = to.query,
                                                .key_grad_TKC = to.key,
                                                .value_grad_TKC = to.value,
                                                .scratch_HT = grads.span_scratch,
                                                .viewers = texts.viewers,
                                                .viewers_start_S = texts.viewers_start};
  Calls run;
  SEEKRL_ADD(run, span_attention_gradient, gradient);
  return {run, {}};
}

}  // namespace

// As training has it: what is attended over is copied into blocks, and read by the kernel of prompts, for its bits.
Prepared prepare_layer(Memory& memory, const Model& model, int64_t num_texts, int64_t length) {
  const Texts texts(memory, model, num_texts, length, true);
  const CachedTexts cached(memory, model, 1, num_texts, length);
  const int64_t t = texts.num_tokens, d = model.hidden, inner = model.inner;
  const LayerWeights weights(memory, model);
  const LayerRows rows(memory, model, t);
  const LayerGradients grads(memory, model, t);
  const Projected projections = projected(model, memory.poisoned(model.dtype, t * model.query_width()), rows.qkv, t);
  float* const residual = memory.floats(t * d);
  Calls run;
  add_layer(run, model, weights, rows, residual, nullptr, [&](Calls& calls) {
    add_projections(calls, model, weights, rows, projections);
    SEEKRL_ADD(calls, rotate, texts.rotation(model, projections, weights.qkv_bias));
    SEEKRL_ADD(calls, rotate, cached.copy(model, projections));
    cuda::PagedAttention attention = cached.attention(model, projections.query, rows.attended, 0);
    attention.log_sum_HT = texts.log_sum;
    SEEKRL_ADD(calls, prefill_attention, attention);
  });
  add_layer_backward(run, model, weights, rows, texts, projections, grads, residual);
  return {run,
          {{"attended_grad", grads.attended, t * model.query_width(), model.kind(), 2e-2},
           {"query_grad", grads.query, t * model.query_width(), model.kind(), 3e-2},
           {"key_and_value_grad", grads.keys_and_values, 2 * t * model.key_width(), model.kind(), 3e-2},
           {"normed_grad", grads.normed, t * d, model.kind(), 3e-2},
           {"bias_grad", grads.bias, model.qkv_width(), Kind::kFloat, 3e-2},
           {"residual_grad", grads.residual, t * d, Kind::kFloat, 2e-2},
           {"norm_grad", grads.first_norm, d, Kind::kFloat, 3e-2},
           {"gate_up_weight_grad", grads.gate_up_weight, 2 * inner * d, Kind::kFloat, 2e-2},
           {"qkv_weight_grad", grads.qkv_weight, model.qkv_width() * d, Kind::kFloat, 3e-2}}};
}

void add_training_cases(Cases& cases, bool is_tiny) {
  cases.push_back({.name = "train a layer of tiny, 2 texts of 70",
                   .prepare = [](Memory& memory) { return prepare_layer(memory, tiny_model(), 2, 70); },
                   .use = Use::kCheck});
  for (const Model& model : models(is_tiny)) {
    const int64_t num_texts = 2, length = is_tiny ? 70 : 4096;
    const auto tokens = static_cast<double>(num_texts * length);
    // 10 C FLOP a pair and head, 4 C of them twice.
    cases.push_back(
        {.name = "gradients of attention of a layer of " + model.name + ", 2 texts of " + std::to_string(length),
         .items = tokens,
         .item = "tok",
         .bytes = 4 * tokens * static_cast<double>(model.qkv_width() + model.query_width()),
         .flop = 7.0 * tokens * static_cast<double>(length * model.query_width()),
         .memory = tokens * static_cast<double>(16 * model.inner + 60 * model.hidden) + 6e9,
         .prepare = [=](Memory& memory) { return prepare_attention_gradient(memory, model, num_texts, length); },
         .use = Use::kTable});
  }
}

void add_loss_cases(Cases& cases, bool) {
  for (const Dtype dtype : {Dtype::kBf16, Dtype::kF16}) {
    const LossShape shape = {24, 16, 64, 208, dtype};
    cases.push_back({.name = std::string("loss op, 24 rows of 64 by 208, ") + name_of(dtype),
                     .prepare = [shape](Memory& memory) { return prepare_loss(memory, shape); },
                     .use = Use::kCheck});
  }
}

}  // namespace seekrl::bench
