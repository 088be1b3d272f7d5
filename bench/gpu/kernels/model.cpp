#include "model.h"

namespace seekrl::bench {

using cuda::Dtype;

Model tiny_model() { return {"tiny", 2, 64, 4, 2, 32, 96, 200}; }

std::vector<Model> models(bool is_tiny) {
  if (is_tiny) return {tiny_model()};
  return {{"0.5B", 24, 896, 14, 2, 64, 4864, 151936}, {"7B", 28, 3584, 28, 4, 128, 18944, 152064}};
}

void add_forward(Calls& calls, Dtype dtype, void* out, const void* x, const void* w, const void* bias, int64_t m,
                 int64_t n, int64_t k, std::optional<Dtype> out_dtype) {
  const cuda::Product call = {
      out, x, w, bias, n, k, k, m, n, k, cuda::ProductForm::kForward, dtype, out_dtype.value_or(dtype), false};
  SEEKRL_ADD(calls, product, call);
}

LayerWeights::LayerWeights(Memory& memory, const Model& model)
    : first_norm(memory.numbers(model.dtype, model.hidden, 0.1f, 1)),
      qkv(weight_of(memory, model.dtype, model.qkv_width(), model.hidden)),
      qkv_bias(memory.numbers(model.dtype, model.qkv_width(), 0.1f)),
      out(weight_of(memory, model.dtype, model.hidden, model.query_width())),
      second_norm(memory.numbers(model.dtype, model.hidden, 0.1f, 1)),
      gate_up(weight_of(memory, model.dtype, 2 * model.inner, model.hidden)),
      down(weight_of(memory, model.dtype, model.hidden, model.inner)) {}

LayerRows::LayerRows(Memory& memory, const Model& model, int64_t num_rows_)
    : num_rows(num_rows_),
      normed(memory.poisoned(model.dtype, num_rows * model.hidden)),
      qkv(memory.poisoned(model.dtype, num_rows * model.qkv_width())),
      attended(memory.poisoned(model.dtype, num_rows * model.query_width())),
      added(memory.poisoned(model.dtype, num_rows * model.hidden)),
      second_normed(memory.poisoned(model.dtype, num_rows * model.hidden)),
      gate_up(memory.poisoned(model.dtype, num_rows * 2 * model.inner)),
      gated(memory.poisoned(model.dtype, num_rows * model.inner)),
      last(memory.poisoned(model.dtype, num_rows * model.hidden)),
      middle(static_cast<float*>(memory.poisoned(Dtype::kFloat, num_rows * model.hidden))),
      first_scale(memory.empty<float>(num_rows)),
      second_scale(memory.empty<float>(num_rows)) {}

void add_layer(Calls& calls, const Model& model, const LayerWeights& weights, const LayerRows& rows, float* residual,
               const void* added, const std::function<void(Calls&)>& attend) {
  const int64_t t = rows.num_rows, d = model.hidden, inner = model.inner;
  const cuda::AddNorm first = {rows.normed,
                               added == nullptr ? nullptr : residual,
                               residual,
                               added,
                               weights.first_norm,
                               rows.first_scale,
                               t,
                               d,
                               1e-6f,
                               0,
                               model.dtype};
  SEEKRL_ADD(calls, add_norm, first);
  attend(calls);
  add_forward(calls, model.dtype, rows.added, rows.attended, weights.out, nullptr, t, d, model.query_width());
  const cuda::AddNorm second = {rows.second_normed, rows.middle, residual, rows.added, weights.second_norm,
                                rows.second_scale,  t,           d,        1e-6f,      0,
                                model.dtype};
  SEEKRL_ADD(calls, add_norm, second);
  add_forward(calls, model.dtype, rows.gate_up, rows.second_normed, weights.gate_up, nullptr, t, 2 * inner, d);
  const auto* const up = static_cast<const uint16_t*>(rows.gate_up) + inner;
  const cuda::GateMul gate = {rows.gated, rows.gate_up, up, t, inner, 2 * inner, cuda::Gate::kSilu, model.dtype};
  SEEKRL_ADD(calls, gate_mul, gate);
  add_forward(calls, model.dtype, rows.last, rows.gated, weights.down, nullptr, t, d, inner);
}

void add_projections(Calls& calls, const Model& model, const LayerWeights& weights, const LayerRows& rows,
                     const Projected& to) {
  const auto* const w = static_cast<const uint16_t*>(weights.qkv);
  const int64_t d = model.hidden, queries = model.query_width(), keys = model.key_width();
  const auto add = [&](uint16_t* out, int64_t first, int64_t width) {
    add_forward(calls, model.dtype, out, rows.normed, w + first * d, nullptr, rows.num_rows, width, d);
  };
  add(to.query, 0, queries);
  add(to.key, queries, keys);
  add(to.value, queries + keys, keys);
}

void add_layers(Memory& memory, Calls& run, const Model& model, const LayerRows& rows, float* residual,
                const Projected& to, const std::function<void(Calls&, const LayerWeights&, int64_t layer)>& attend) {
  const void* added = nullptr;
  for (int64_t layer = 0; layer < model.num_layers; ++layer) {
    const LayerWeights weights(memory, model);
    add_layer(run, model, weights, rows, residual, added, [&](Calls& calls) {
      add_projections(calls, model, weights, rows, to);
      attend(calls, weights, layer);
    });
    residual = rows.middle;
    added = rows.last;
  }
}

}  // namespace seekrl::bench
