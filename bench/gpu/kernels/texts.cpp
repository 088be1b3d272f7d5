// What attention reads and writes: texts packed side by side, or in blocks.
#include <algorithm>

#include "model.h"

namespace seekrl::bench {

using cuda::Dtype;

namespace {

float score_scale(const Model& model) { return 1.0f / std::sqrt(static_cast<float>(model.head_dim)); }

}  // namespace

Projected projected(const Model& model, void* qkv) {
  auto* const all = static_cast<uint16_t*>(qkv);
  const int64_t keys = model.query_width(), width = model.qkv_width();
  return {all, all + keys, all + keys + model.key_width(), width, width};
}

Projected projected(const Model& model, void* query, void* keys_and_values, int64_t num_tokens) {
  auto* const keys = static_cast<uint16_t*>(keys_and_values);
  const int64_t width = model.key_width();
  return {static_cast<uint16_t*>(query), keys, keys + num_tokens * width, model.query_width(), width};
}

cuda::Rotate rotation_of(const Model& model, const Projected& at, const void* bias, int64_t num_tokens,
                         const cuda::RotaryTables& rotary) {
  const auto part = [&](uint16_t* data, int64_t stride, int64_t first) -> cuda::ProjectedHeads {
    return {data, stride, bias == nullptr ? nullptr : static_cast<const uint16_t*>(bias) + first, nullptr};
  };
  const int64_t queries = model.query_width(), keys = model.key_width();
  cuda::Rotate call = {};
  call.query = part(at.query, at.query_stride, 0);
  call.key = part(at.key, at.stride, queries);
  call.value = part(at.value, at.stride, queries + keys);
  call.num_tokens = num_tokens;
  call.num_heads = model.num_heads;
  call.num_kv_heads = model.num_kv_heads;
  call.head_dim = model.head_dim;
  call.norm_epsilon = 1e-6f;
  call.dtype = model.dtype;
  call.rotary = rotary;
  return call;
}

Texts::Texts(Memory& memory, const Model& model, int64_t num_texts, int64_t length, bool is_causal_)
    : num_tokens(num_texts * length), is_causal(is_causal_) {
  std::vector<cuda::SpanTile> all_tiles;
  std::vector<int32_t> tokens, start, positions;
  for (int64_t text = 0; text <= num_texts; ++text) start.push_back(static_cast<int32_t>(text * length));
  for (int64_t text = 0; text < num_texts; ++text) {
    for (int64_t i = 0; i < length; ++i) {
      tokens.push_back(static_cast<int32_t>(text * length + i));
      positions.push_back(static_cast<int32_t>(i));
      if (i % cuda::kSpanTileRows != 0) continue;
      all_tiles.push_back({static_cast<int32_t>(text), static_cast<int32_t>(text * length + i),
                           static_cast<int32_t>(std::min<int64_t>(cuda::kSpanTileRows, length - i))});
    }
  }
  num_tiles = std::ssize(all_tiles);
  tiles = memory.copy_of(all_tiles);
  path = viewers = memory.copy_of(tokens);
  path_start = viewers_start = memory.copy_of(start);
  position = memory.copy_of(positions);
  cos = memory.floats(num_tokens * model.head_dim / 2);
  sin = memory.floats(num_tokens * model.head_dim / 2);
  log_sum = memory.empty<float>(num_tokens * model.num_heads);
}

cuda::SpanAttention Texts::attention(const Model& model, const Projected& projections, void* out) const {
  return {.query_THC = {projections.query, projections.query_stride},
          .key_TKC = {projections.key, projections.stride},
          .value_TKC = {projections.value, projections.stride},
          .out_THC = out,
          .log_sum_HT = is_causal ? log_sum : nullptr,
          .tiles = tiles,
          .num_tiles = num_tiles,
          .path = path,
          .path_start_S = path_start,
          .position_T = position,
          .num_tokens = num_tokens,
          .num_heads = model.num_heads,
          .num_kv_heads = model.num_kv_heads,
          .head_dim = model.head_dim,
          .scale = score_scale(model),
          .softcap = 0,
          .window = 0,
          .dtype = model.dtype,
          .is_causal = is_causal};
}

cuda::Rotate Texts::rotation(const Model& model, const Projected& projections, const void* bias) const {
  return rotation_of(model, projections, bias, num_tokens, {cos, sin, model.head_dim / 2});
}

CachedTexts::CachedTexts(Memory& memory, const Model& model, int64_t num_layers, int64_t num_texts, int64_t length) {
  num_rows = num_texts * length;
  max_keys = length;
  blocks_of_one = (length + kBlockTokens - 1) / kBlockTokens;
  cos = memory.floats(num_rows * model.head_dim / 2);
  sin = memory.floats(num_rows * model.head_dim / 2);
  const int64_t places = model.num_kv_heads * kBlockTokens * num_texts * blocks_of_one;
  for (int64_t layer = 0; layer < num_layers; ++layer) {
    keys.push_back(memory.poisoned(model.dtype, places * model.head_dim));
    values.push_back(memory.poisoned(model.dtype, places * model.head_dim));
  }
  std::vector<int32_t> blocks, slots_of;
  std::vector<cuda::AttentionTile> tiles_of;
  const int64_t positions = cuda::kPrefillRows * model.num_kv_heads / model.num_heads;
  for (int64_t text = 0; text < num_texts; ++text) {
    // Neighbours in a text are far apart in memory.
    for (int64_t b = 0; b < blocks_of_one; ++b) blocks.push_back(static_cast<int32_t>(b * num_texts + text));
    for (int64_t i = 0; i < length; ++i) {
      slots_of.push_back(static_cast<int32_t>((i / kBlockTokens * num_texts + text) * kBlockTokens + i % kBlockTokens));
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

cuda::Rotate CachedSequences::rotation(const Model& model, const Projected& projections, const void* bias,
                                       int64_t layer) const {
  cuda::Rotate call = rotation_of(model, projections, bias, num_rows, {cos, sin, model.head_dim / 2});
  call.keys = keys[layer];
  call.values = values[layer];
  call.key_scales = key_scales;
  call.value_scales = value_scales;
  call.slots_T = slots;
  call.block_tokens = kBlockTokens;
  return call;
}

cuda::Rotate CachedTexts::copy(const Model& model, const Projected& projections) const {
  cuda::Rotate call = rotation(model, projections, nullptr, 0);
  call.rotary = {};
  return call;
}

cuda::PagedAttention CachedSequences::attention(const Model& model, const void* query, void* out, int64_t layer) const {
  return {.out = out,
          .query = query,
          .keys = keys[layer],
          .values = values[layer],
          .tiles = tiles,
          .block_table = table,
          .scratch = scratch,
          .num_tiles = num_tiles,
          .num_rows = num_rows,
          .num_heads = model.num_heads,
          .num_kv_heads = model.num_kv_heads,
          .head_dim = model.head_dim,
          .table_stride = blocks_of_one,
          .block_tokens = kBlockTokens,
          .max_keys = max_keys,
          .scale = score_scale(model),
          .softcap = 0,
          .window = 0,
          .dtype = model.dtype,
          .key_scales = key_scales,
          .value_scales = value_scales};
}

}  // namespace seekrl::bench
