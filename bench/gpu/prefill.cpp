// Prompts: every kernel of every layer, keys and values written to blocks and attended over there, as one recorded
// graph.
#include <algorithm>

#include "model.h"

namespace seekrl::bench {

using cuda::Dtype;

namespace {

Prepared prepare_prefill(Memory& memory, const Model& model, int64_t num_texts, int64_t length) {
  const CachedTexts prompts(memory, model, model.num_layers, num_texts, length);
  const LayerRows rows(memory, model, prompts.num_rows);
  const Projected to = projected(model, memory.poisoned(Dtype::kBf16, prompts.num_rows * model.query_width()), rows.qkv,
                                 prompts.num_rows);
  float* const input = memory.floats(prompts.num_rows * model.hidden);
  Calls run;
  add_layers(memory, run, model, rows, input, to, [&](Calls& calls, const LayerWeights& weights, int64_t layer) {
    SEEKRL_ADD(calls, rotate, prompts.rotation(model, to, weights.qkv_bias, layer));
    SEEKRL_ADD(calls, prefill_attention, prompts.attention(model, to.query, rows.attended, layer));
  });
  return {run,
          {{"attended", rows.attended, prompts.num_rows * model.query_width(), Kind::kBf16, 2e-2},
           {"residual", rows.middle, prompts.num_rows * model.hidden, Kind::kFloat, 2e-2}}};
}

}  // namespace

void add_prefill_cases(Cases& cases, bool is_tiny) {
  for (const Model& model : models(is_tiny)) {
    if (!is_tiny && model.name != "0.5B" && model.name != "7B") continue;
    const int64_t num_texts = is_tiny ? 2 : 4, length = is_tiny ? 70 : 2048;
    const auto tokens = static_cast<double>(num_texts * length), layers = static_cast<double>(model.num_layers);
    const double parameters = layers * model.layer_parameters();
    const double attention = 2.0 * tokens * static_cast<double>(length * model.query_width()) * layers;
    cases.push_back(
        {"prefill " + model.name + ", " + std::to_string(num_texts) + " prompts of " + std::to_string(length),
         model.name == "7B" ? "38k" : (is_tiny ? "" : "600k"), tokens, "tok", 2 * parameters,
         2 * tokens * parameters + attention,
         2 * parameters + tokens * layers * static_cast<double>(4 * model.num_kv_heads * model.head_dim) +
             tokens * static_cast<double>(8 * model.inner + 40 * model.hidden) + 1e9,
         true, [=](Memory& memory) { return prepare_prefill(memory, model, num_texts, length); }});
  }
}

}  // namespace seekrl::bench
