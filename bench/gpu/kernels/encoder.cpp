// Encoders of texts: the kernels of every layer over packed texts, and the pooled rows.
#include "model.h"

namespace seekrl::bench {

using cuda::Dtype;

namespace {

struct EncoderWeights {
  EncoderWeights(Memory& memory, const Model& model)
      : hidden(model.hidden),
        inner(model.inner),
        qkv(weight_of(memory, model.dtype, 3 * hidden, hidden)),
        qkv_bias(memory.numbers(model.dtype, 3 * hidden, 0.1f)),
        out(weight_of(memory, model.dtype, hidden, hidden)),
        out_bias(memory.numbers(model.dtype, hidden, 0.1f)),
        up(weight_of(memory, model.dtype, inner, hidden)),
        up_bias(memory.numbers(model.dtype, inner, 0.1f)),
        down(weight_of(memory, model.dtype, hidden, inner)),
        down_bias(memory.numbers(model.dtype, hidden, 0.1f)) {
    for (int i = 0; i < 2; ++i) {
      norm[i] = memory.floats(hidden, 0.1f, 1);
      norm_bias[i] = memory.floats(hidden, 0.1f);
    }
  }
  int64_t hidden, inner;
  void *qkv, *qkv_bias, *out, *out_bias, *up, *up_bias, *down, *down_bias;
  float *norm[2], *norm_bias[2];
};

Prepared prepare_encoder(Memory& memory, const Model& model, int64_t num_texts, int64_t length) {
  const Texts texts(memory, model, num_texts, length, false);
  const int64_t t = texts.num_tokens, d = model.hidden, inner = model.inner;
  const LayerRows rows(memory, model, t);
  float* const residual = memory.floats(t * d);
  void* const input = memory.numbers(model.dtype, t * d);
  const void* x = input;
  Calls run;
  for (int64_t layer = 0; layer < model.num_layers; ++layer) {
    const EncoderWeights weights(memory, model);
    add_forward(run, model.dtype, rows.qkv, x, weights.qkv, weights.qkv_bias, t, 3 * d, d);
    SEEKRL_ADD(run, span_attention, texts.attention(model, projected(model, rows.qkv), rows.attended));
    add_forward(run, model.dtype, rows.added, rows.attended, weights.out, weights.out_bias, t, d, d);
    const cuda::AddLayerNorm first = {
        rows.second_normed, residual, rows.added, weights.norm[0], weights.norm_bias[0], t, d, 1e-12f, model.dtype};
    SEEKRL_ADD(run, add_layer_norm, first);
    add_forward(run, model.dtype, rows.gated, rows.second_normed, weights.up, nullptr, t, inner, d);
    const cuda::BiasGelu gelu = {rows.gated, weights.up_bias, t, inner, model.dtype};
    SEEKRL_ADD(run, bias_gelu, gelu);
    add_forward(run, model.dtype, rows.last, rows.gated, weights.down, weights.down_bias, t, d, inner);
    const cuda::AddLayerNorm second = {rows.normed, residual, rows.last, weights.norm[1], weights.norm_bias[1],
                                       t,           d,        1e-12f,    model.dtype};
    SEEKRL_ADD(run, add_layer_norm, second);
    x = rows.normed;
  }
  float* const pooled = memory.floats(num_texts * d);
  const cuda::PoolTexts pool = {pooled, residual, texts.path_start, num_texts, d, cuda::PoolKind::kMean, true};
  SEEKRL_ADD(run, pool_texts, pool);
  return {run,
          {{"rows", residual, t * d, Kind::kFloat, 2e-2},
           {"gelu", rows.gated, t * inner, model.kind(), 2e-2},
           {"pooled", pooled, num_texts * d, Kind::kFloat, 2e-2}}};
}

}  // namespace

void add_encoder_cases(Cases& cases, bool) {
  for (const Dtype dtype : {Dtype::kBf16, Dtype::kF16}) {
    const Model model = {"tiny", 2, 64, 2, 2, 32, 96, 0, dtype};
    cases.push_back({.name = std::string("embed tiny, 3 texts of 21, ") + name_of(dtype),
                     .prepare = [model](Memory& memory) { return prepare_encoder(memory, model, 3, 21); },
                     .use = Use::kCheck});
  }
}

}  // namespace seekrl::bench
