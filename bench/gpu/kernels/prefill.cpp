// Prompts: every kernel of every layer, keys and values written to blocks and attended over there; attention alone.
#include <algorithm>

#include "model.h"

namespace seekrl::bench {

using cuda::Dtype;

Prepared prepare_prefill(Memory& memory, const Model& model, int64_t num_texts, int64_t length) {
  const CachedTexts prompts(memory, model, model.num_layers, num_texts, length);
  const LayerRows rows(memory, model, prompts.num_rows);
  const Projected to = projected(model, memory.poisoned(model.dtype, prompts.num_rows * model.query_width()), rows.qkv,
                                 prompts.num_rows);
  float* const input = memory.floats(prompts.num_rows * model.hidden);
  Calls run;
  add_layers(memory, run, model, rows, input, to, [&](Calls& calls, const LayerWeights& weights, int64_t layer) {
    SEEKRL_ADD(calls, rotate, prompts.rotation(model, to, weights.qkv_bias, layer));
    SEEKRL_ADD(calls, prefill_attention, prompts.attention(model, to.query, rows.attended, layer));
  });
  return {run,
          {{"attended", rows.attended, prompts.num_rows * model.query_width(), model.kind(), 2e-2},
           {"residual", rows.middle, prompts.num_rows * model.hidden, Kind::kFloat, 2e-2}}};
}

namespace {

// Of one layer, whose keys and values are in their blocks.
Prepared prepare_attention(Memory& memory, const Model& model, int64_t num_texts, int64_t length) {
  const CachedTexts prompts(memory, model, 1, num_texts, length);
  const int64_t count = prompts.num_rows;
  void* const qkv = memory.numbers(model.dtype, count * model.qkv_width());
  const Projected at = projected(model, memory.numbers(model.dtype, count * model.query_width()), qkv, count);
  require(cuda::rotate(prompts.rotation(model, at, nullptr, 0), nullptr));
  void* const out = memory.poisoned(model.dtype, count * model.query_width());
  Calls run;
  SEEKRL_ADD(run, prefill_attention, prompts.attention(model, at.query, out, 0));
  return {run, {}};
}

}  // namespace

void add_prefill_cases(Cases& cases, bool is_tiny) {
  cases.push_back({.name = "prefill tiny, 2 prompts of 70",
                   .prepare = [](Memory& memory) { return prepare_prefill(memory, tiny_model(), 2, 70); },
                   .use = Use::kCheck});
  for (const Model& model : models(is_tiny)) {
    const int64_t num_texts = is_tiny ? 2 : 4, length = is_tiny ? 70 : 2048;
    const auto tokens = static_cast<double>(num_texts * length);
    cases.push_back({.name = "attention of a layer of " + model.name + ", " + std::to_string(num_texts) +
                             " prompts of " + std::to_string(length),
                     .items = tokens,
                     .item = "tok",
                     .bytes = 4 * tokens * static_cast<double>(model.key_width() + model.query_width()),
                     .flop = 2.0 * tokens * static_cast<double>(length * model.query_width()),
                     .memory = 12 * tokens * static_cast<double>(model.qkv_width()) + 1e9,
                     .prepare = [=](Memory& memory) { return prepare_attention(memory, model, num_texts, length); },
                     .use = Use::kTable});
  }
}

}  // namespace seekrl::bench
