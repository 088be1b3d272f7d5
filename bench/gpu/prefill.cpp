// Prompts: every kernel of every layer, keys and values written to blocks and attended over there, as one recorded
// graph.
#include <algorithm>

#include "model.h"

namespace seekrl::bench {

using cuda::Dtype;

namespace {

constexpr int64_t kBlockTokens = 16;

// Texts of `length` tokens of which none is in the cache.
struct PrefillRows {
  PrefillRows(Memory& memory, const Model& model, int64_t num_texts, int64_t length_)
      : num_tokens(num_texts * length_),
        length(length_),
        blocks_of_one((length + kBlockTokens - 1) / kBlockTokens),
        query(memory.poisoned(Dtype::kBf16, num_tokens * model.query_width())),
        cos(memory.floats(num_tokens * model.head_dim / 2)),
        sin(memory.floats(num_tokens * model.head_dim / 2)) {
    const int64_t places = model.num_kv_heads * kBlockTokens * num_texts * blocks_of_one;
    for (int64_t layer = 0; layer < model.num_layers; ++layer) {
      keys.push_back(memory.poisoned(Dtype::kBf16, places * model.head_dim));
      values.push_back(memory.poisoned(Dtype::kBf16, places * model.head_dim));
    }
    std::vector<int32_t> blocks, slots_of;
    std::vector<cuda::AttentionTile> tiles_of;
    const int64_t positions = cuda::kPrefillRows * model.num_kv_heads / model.num_heads;
    for (int64_t text = 0; text < num_texts; ++text) {
      // Neighbours in a text are far apart in memory.
      for (int64_t b = 0; b < blocks_of_one; ++b) blocks.push_back(static_cast<int32_t>(b * num_texts + text));
      for (int64_t i = 0; i < length; ++i) {
        slots_of.push_back(
            static_cast<int32_t>((i / kBlockTokens * num_texts + text) * kBlockTokens + i % kBlockTokens));
        if (i % positions != 0) continue;
        tiles_of.push_back({static_cast<int32_t>(text), static_cast<int32_t>(text * length + i),
                            static_cast<int32_t>(std::min(positions, length - i)), static_cast<int32_t>(i + 1)});
      }
    }
    num_tiles = std::ssize(tiles_of);
    tiles = memory.copy_of(tiles_of);
    table = memory.copy_of(blocks);
    slots = memory.copy_of(slots_of);
  }

  cuda::Rotate rotation(const Model& model, void* keys_and_values, const void* bias, int64_t layer) const {
    auto* const key = static_cast<uint16_t*>(keys_and_values);
    const auto* const biases = static_cast<const uint16_t*>(bias);
    const int64_t queries = model.query_width(), of_keys = model.num_kv_heads * model.head_dim;
    cuda::Rotate call = {};
    call.query = {query, queries, biases, nullptr};
    call.key = {key, 2 * of_keys, biases + queries, nullptr};
    call.value = {key + of_keys, 2 * of_keys, biases + queries + of_keys, nullptr};
    call.keys = keys[layer];
    call.values = values[layer];
    call.slots_T = slots;
    call.rotary = {cos, sin, model.head_dim / 2};
    call.num_tokens = num_tokens;
    call.num_heads = model.num_heads;
    call.num_kv_heads = model.num_kv_heads;
    call.head_dim = model.head_dim;
    call.block_tokens = kBlockTokens;
    call.norm_epsilon = 1e-6f;
    call.dtype = Dtype::kBf16;
    return call;
  }

  cuda::PagedAttention attention(const Model& model, void* out, int64_t layer) const {
    return {.out = out,
            .query = query,
            .keys = keys[layer],
            .values = values[layer],
            .tiles = tiles,
            .block_table = table,
            .scratch = nullptr,
            .num_tiles = num_tiles,
            .num_rows = num_tokens,
            .num_heads = model.num_heads,
            .num_kv_heads = model.num_kv_heads,
            .head_dim = model.head_dim,
            .table_stride = blocks_of_one,
            .block_tokens = kBlockTokens,
            .max_keys = length,
            .scale = 1.0f / std::sqrt(static_cast<float>(model.head_dim)),
            .softcap = 0,
            .window = 0,
            .dtype = Dtype::kBf16};
  }

  int64_t num_tokens, length, blocks_of_one, num_tiles;
  void* query;
  float *cos, *sin;
  std::vector<void*> keys, values;
  cuda::AttentionTile* tiles;
  int32_t *table, *slots;
};

Prepared prepare_prefill(Memory& memory, const Model& model, int64_t num_texts, int64_t length) {
  const PrefillRows prompts(memory, model, num_texts, length);
  const LayerRows rows(memory, model, prompts.num_tokens);
  float* residual = memory.floats(prompts.num_tokens * model.hidden);
  const void* added = nullptr;
  Calls run;
  for (int64_t layer = 0; layer < model.num_layers; ++layer) {
    const LayerWeights weights(memory, model);
    add_layer(run, model, weights, rows, residual, added, [&](Calls& calls) {
      const auto* const of_keys = static_cast<const uint16_t*>(weights.qkv) + model.query_width() * model.hidden;
      add_forward(calls, prompts.query, rows.normed, weights.qkv, nullptr, prompts.num_tokens, model.query_width(),
                  model.hidden);
      add_forward(calls, rows.qkv, rows.normed, of_keys, nullptr, prompts.num_tokens,
                  model.qkv_width() - model.query_width(), model.hidden);
      SEEKRL_ADD(calls, rotate, prompts.rotation(model, rows.qkv, weights.qkv_bias, layer));
      SEEKRL_ADD(calls, prefill_attention, prompts.attention(model, rows.attended, layer));
    });
    residual = rows.middle;
    added = rows.last;
  }
  return {run,
          {{"attended", rows.attended, prompts.num_tokens * model.query_width(), Kind::kBf16, 2e-2},
           {"residual", rows.middle, prompts.num_tokens * model.hidden, Kind::kFloat, 2e-2}}};
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
