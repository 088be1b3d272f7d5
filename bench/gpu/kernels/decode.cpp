// Decoding steps: every kernel of every layer, the head and the draw; their attention alone.
#include <algorithm>

#include "model.h"

namespace seekrl::bench {

using cuda::Dtype;

namespace {

// More than a case is repeated: each step adds a token.
constexpr int64_t kMoreTokens = 160;

// Sequences of `context` tokens in blocks.
struct Sequences : CachedSequences {
  Sequences(Memory& memory, const Model& model, int64_t count, int64_t context, bool has_codes) {
    num_rows = num_tiles = count;
    max_keys = context + kMoreTokens;
    blocks_of_one = (max_keys + kBlockTokens - 1) / kBlockTokens;
    const int64_t places = model.num_kv_heads * kBlockTokens * count * blocks_of_one;
    for (int64_t layer = 0; layer < model.num_layers; ++layer) {
      keys.push_back(has_codes ? memory.codes(places * model.head_dim)
                               : memory.numbers(model.dtype, places * model.head_dim));
      values.push_back(has_codes ? memory.codes(places * model.head_dim)
                                 : memory.numbers(model.dtype, places * model.head_dim));
    }
    if (has_codes) key_scales = value_scales = memory.floats(places, 0, 0x1p-8f);
    std::vector<int32_t> blocks, positions, lengths_of, slots_of, limits_of;
    std::vector<cuda::AttentionTile> tiles_of;
    for (int64_t s = 0; s < count; ++s) {
      // Neighbours in a sequence are far apart in memory.
      for (int64_t b = 0; b < blocks_of_one; ++b) blocks.push_back(static_cast<int32_t>(b * count + s));
      const int64_t block = blocks[s * blocks_of_one + (context - 1) / kBlockTokens];
      tiles_of.push_back({static_cast<int32_t>(s), static_cast<int32_t>(s), 1, static_cast<int32_t>(context)});
      positions.push_back(static_cast<int32_t>(context - 1));
      lengths_of.push_back(static_cast<int32_t>(context));
      slots_of.push_back(static_cast<int32_t>(block * kBlockTokens + (context - 1) % kBlockTokens));
      limits_of.push_back(static_cast<int32_t>(max_keys));
    }
    tiles = memory.copy_of(tiles_of);
    table = memory.copy_of(blocks);
    position = memory.copy_of(positions);
    lengths = memory.copy_of(lengths_of);
    slots = memory.copy_of(slots_of);
    limits = memory.copy_of(limits_of);
    ids = memory.empty<int32_t>(count);
    cos = memory.floats(count * model.head_dim / 2);
    frequencies = memory.floats(model.head_dim / 2, 0.5f, 0.5f);
    sin = memory.floats(count * model.head_dim / 2);
    scratch = memory.floats(cuda::paged_attention_scratch_floats(count, model.num_heads, model.head_dim, max_keys));
  }

  cuda::NextStep next(const cuda::DrawnToken* drawn) const {
    return {ids, position, lengths, slots, tiles, drawn, table, limits, num_rows, blocks_of_one, kBlockTokens};
  }

  float* frequencies;
  int32_t *position, *lengths, *limits, *ids;
};

// The last norm, and logits [batch, V] by the embedding.
float* add_head(Memory& memory, Calls& run, const Model& model, const LayerRows& rows, const void* embedding) {
  const int64_t batch = rows.num_rows;
  const void* const norm = memory.numbers(model.dtype, model.hidden, 0.1f, 1);
  const cuda::AddNorm last = {rows.normed, rows.middle,  rows.middle, rows.last, norm,       nullptr,
                              batch,       model.hidden, 1e-6f,       0,         model.dtype};
  SEEKRL_ADD(run, add_norm, last);
  auto* const logits = memory.empty<float>(batch * model.vocab_size);
  add_forward(run, model.dtype, logits, rows.normed, embedding, nullptr, batch, model.vocab_size, model.hidden,
              Dtype::kFloat);
  return logits;
}

// A token of each row, and the inputs of the next step.
void add_draws(Memory& memory, Calls& run, const Model& model, const Sequences& sequences, const float* logits) {
  const int64_t batch = sequences.num_rows;
  std::vector<cuda::SampleRow> options(batch);
  for (int64_t s = 0; s < batch; ++s) {
    options[s] = {};
    options[s].seed = static_cast<uint64_t>(s);
    options[s].temperature = options[s].top_p = options[s].repetition = 1;
  }
  auto* const drawn = memory.empty<cuda::DrawnToken>(batch);
  const cuda::SampleCall draw = {drawn, logits, memory.copy_of(options), sequences.lengths, batch, model.vocab_size};
  SEEKRL_ADD(run, sample, draw);
  SEEKRL_ADD(run, next_step, sequences.next(drawn));
}

// Of one layer.
Prepared prepare_attention(Memory& memory, Decoding shape) {
  shape.model.num_layers = 1;
  const auto& [model, batch, context, has_codes] = shape;
  const Sequences sequences(memory, model, batch, context, has_codes);
  void* const out = memory.poisoned(model.dtype, batch * model.query_width());
  const void* const query = memory.numbers(model.dtype, batch * model.query_width());
  Calls run;
  SEEKRL_ADD(run, paged_attention, sequences.attention(model, query, out, 0));
  return {run, {}};
}

std::string words_of(const Decoding& shape) {
  return shape.model.name + ", " + std::to_string(shape.batch) + " rows at " + std::to_string(shape.context) +
         (shape.has_codes ? " tokens, e4m3 cache" : " tokens");
}

void add_attention(Cases& cases, const Decoding& shape) {
  const auto& [model, batch, context, has_codes] = shape;
  const double keys = static_cast<double>(batch) * static_cast<double>(context);
  const double width = static_cast<double>(model.head_dim);
  const double bytes = keys * 2 * static_cast<double>(model.num_kv_heads) * (has_codes ? width + 4 : 2 * width);
  cases.push_back({.name = "attention of a decoding layer of " + words_of(shape),
                   .items = static_cast<double>(batch),
                   .item = "tok",
                   .bytes = bytes,
                   .flop = 4 * keys * static_cast<double>(model.query_width()),
                   .memory = 2 * bytes + 1e9,
                   .prepare = [shape](Memory& memory) { return prepare_attention(memory, shape); },
                   .use = Use::kTable});
}

}  // namespace

Prepared prepare_decode(Memory& memory, const Decoding& shape) {
  const auto& [model, batch, context, has_codes] = shape;
  const Sequences sequences(memory, model, batch, context, has_codes);
  const LayerRows rows(memory, model, batch);
  float* const input = memory.floats(batch * model.hidden);
  const Projected to = projected(model, memory.poisoned(model.dtype, batch * model.query_width()), rows.qkv, batch);
  const void* const embedding = weight_of(memory, model.dtype, model.vocab_size, model.hidden);
  Calls run;
  const cuda::Embed embed = {input, sequences.ids, embedding, batch, model.hidden, 1, model.dtype};
  SEEKRL_ADD(run, embed, embed);
  const cuda::RotaryAngles angles = {
      sequences.cos, sequences.sin, sequences.position, sequences.frequencies, batch, model.head_dim / 2, 1};
  SEEKRL_ADD(run, rotary_angles, angles);
  add_layers(memory, run, model, rows, input, to, [&](Calls& calls, const LayerWeights& weights, int64_t layer) {
    SEEKRL_ADD(calls, rotate, sequences.rotation(model, to, weights.qkv_bias, layer));
    SEEKRL_ADD(calls, paged_attention, sequences.attention(model, to.query, rows.attended, layer));
  });
  float* const logits = add_head(memory, run, model, rows, embedding);
  add_draws(memory, run, model, sequences, logits);
  return {run,
          {{"queries", to.query, batch * model.query_width(), model.kind(), 2e-2},
           {"attended", rows.attended, batch * model.query_width(), model.kind(), 2e-2},
           {"gated", rows.gated, batch * model.inner, model.kind(), 2e-2},
           {"residual", rows.middle, batch * model.hidden, Kind::kFloat, 2e-2},
           {"logits", logits, batch * model.vocab_size, Kind::kFloat, 2e-2},
           {"positions", sequences.position, batch, Kind::kInt, 0},
           {"slots", sequences.slots, batch, Kind::kInt, 0}}};
}

void add_decode_cases(Cases& cases, bool is_tiny) {
  // The last two: a layer as wide as those of real models, as far as the emulator does it in seconds.
  const Decoding checked[] = {{tiny_model(), 3, 37, false},
                              {tiny_model(), 2, 300, true},
                              {{"as wide as 0.5B", 1, 896, 14, 2, 64, 4864, 1511}, 3, 37, false},
                              {{"attention as wide as 7B", 1, 3584, 28, 4, 128, 1184, 211}, 3, 37, false}};
  for (const Decoding& shape : checked) {
    cases.push_back({.name = "decode " + words_of(shape),
                     .prepare = [shape](Memory& memory) { return prepare_decode(memory, shape); },
                     .use = Use::kCheck});
  }
  for (const Model& model : models(is_tiny)) {
    for (const int64_t batch : is_tiny ? std::vector<int64_t>{2} : std::vector<int64_t>{1, 64, 256})
      add_attention(cases, {model, batch, is_tiny ? 40 : 2048, false});
  }
  add_attention(cases, {models(is_tiny).back(), is_tiny ? 2 : 64, is_tiny ? 40 : 2048, true});
}

}  // namespace seekrl::bench
