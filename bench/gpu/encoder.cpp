// Encoders of texts: the kernels of every layer over packed texts, and the pooled rows.
#include "model.h"

namespace seekrl::bench {

using cuda::Dtype;

namespace {

struct EncoderWeights {
  EncoderWeights(Memory& memory, int64_t hidden, int64_t inner)
      : qkv(weight_of(memory, 3 * hidden, hidden)),
        qkv_bias(memory.halves(3 * hidden, 0.1f)),
        out(weight_of(memory, hidden, hidden)),
        out_bias(memory.halves(hidden, 0.1f)),
        up(weight_of(memory, inner, hidden)),
        up_bias(memory.halves(inner, 0.1f)),
        down(weight_of(memory, hidden, inner)),
        down_bias(memory.halves(hidden, 0.1f)) {
    for (int i = 0; i < 2; ++i) {
      norm[i] = memory.floats(hidden, 0.1f, 1);
      norm_bias[i] = memory.floats(hidden, 0.1f);
    }
  }
  void *qkv, *qkv_bias, *out, *out_bias, *up, *up_bias, *down, *down_bias;
  float *norm[2], *norm_bias[2];
};

Prepared prepare_encoder(Memory& memory, const Model& model, int64_t num_texts, int64_t length) {
  const Texts texts(memory, model, num_texts, length, false);
  const int64_t t = texts.num_tokens, d = model.hidden, inner = model.inner;
  const LayerRows rows(memory, model, t);
  float* const residual = memory.floats(t * d);
  void* const input = memory.halves(t * d);
  const void* x = input;
  Calls run;
  for (int64_t layer = 0; layer < model.num_layers; ++layer) {
    const EncoderWeights weights(memory, d, inner);
    add_forward(run, rows.qkv, x, weights.qkv, weights.qkv_bias, t, 3 * d, d);
    SEEKRL_ADD(run, span_attention, texts.attention(model, projected(model, rows.qkv), rows.attended));
    add_forward(run, rows.added, rows.attended, weights.out, weights.out_bias, t, d, d);
    const cuda::AddLayerNorm first = {
        rows.second_normed, residual, rows.added, weights.norm[0], weights.norm_bias[0], t, d, 1e-12f, Dtype::kBf16};
    SEEKRL_ADD(run, add_layer_norm, first);
    add_forward(run, rows.gated, rows.second_normed, weights.up, nullptr, t, inner, d);
    const cuda::BiasGelu gelu = {rows.gated, weights.up_bias, t, inner, Dtype::kBf16};
    SEEKRL_ADD(run, bias_gelu, gelu);
    add_forward(run, rows.last, rows.gated, weights.down, weights.down_bias, t, d, inner);
    const cuda::AddLayerNorm second = {rows.normed, residual, rows.last, weights.norm[1], weights.norm_bias[1],
                                       t,           d,        1e-12f,    Dtype::kBf16};
    SEEKRL_ADD(run, add_layer_norm, second);
    x = rows.normed;
  }
  float* const pooled = memory.floats(num_texts * d);
  const cuda::PoolTexts pool = {pooled, residual, texts.path_start, num_texts, d, cuda::PoolKind::kMean, true};
  SEEKRL_ADD(run, pool_texts, pool);
  return {run,
          {{"rows", residual, t * d, Kind::kFloat, 2e-2},
           {"gelu", rows.gated, t * inner, Kind::kBf16, 2e-2},
           {"pooled", pooled, num_texts * d, Kind::kFloat, 2e-2}}};
}

}  // namespace

void add_encoder_cases(Cases& cases, bool is_tiny) {
  struct Encoder {
    Model model;
    std::string goal;
  };
  const std::vector<Encoder> all = is_tiny
                                       ? std::vector<Encoder>{{{"tiny", 2, 64, 2, 2, 32, 96, 0}, ""}}
                                       : std::vector<Encoder>{{{"bge-large", 24, 1024, 16, 16, 64, 4096, 0}, "600k"},
                                                              {{"e5-base", 12, 768, 12, 12, 64, 3072, 0}, "2.0M"}};
  const int64_t num_texts = is_tiny ? 3 : 256, length = is_tiny ? 21 : 128;
  for (const auto& [model, goal] : all) {
    const auto tokens = static_cast<double>(num_texts * length), layers = static_cast<double>(model.num_layers);
    const double parameters = layers * static_cast<double>(model.hidden * (4 * model.hidden + 2 * model.inner));
    const double attention = 4.0 * tokens * static_cast<double>(length * model.hidden) * layers;
    cases.push_back({"embed " + model.name + ", " + std::to_string(num_texts) + " texts of " + std::to_string(length),
                     goal, tokens, "tok", 2 * parameters, 2 * tokens * parameters + attention,
                     2 * parameters + tokens * static_cast<double>(8 * model.inner + 40 * model.hidden) + 1e9, true,
                     [=, m = model](Memory& memory) { return prepare_encoder(memory, m, num_texts, length); }});
  }
}

}  // namespace seekrl::bench
