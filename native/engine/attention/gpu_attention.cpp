// One copy of lists to the GPU a step; then a layer has one launch that writes keys and values, two for decoding rows,
// whose splits are joined by the second, and one for prompts.
#include "engine/attention/gpu_attention.h"

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <cstddef>

#include "ops/gpu/gpu.h"
#include "ops/gpu/paged_attention.h"
#include "ops/gpu/transfer.h"

namespace seekrl::engine {

GpuAttention::GpuAttention(const model::DecoderConfig& config, const BlockPool& pool)
    : pool_(pool), num_heads_(config.num_heads), num_kv_heads_(config.num_kv_heads), head_dim_(config.head_dim) {}

// Those of a sequence's tokens [start, end), whose rows begin at `first_row`.
void GpuAttention::add_tiles(int64_t sequence, int64_t first_row, int64_t start, int64_t end) {
  const bool is_prefill = end - start >= prefill_tokens(num_heads_, num_kv_heads_);
  std::vector<cuda::AttentionTile>& tiles = is_prefill ? prefill_tiles_ : tiles_;
  const int64_t positions =
      is_prefill ? cuda::kPrefillRows * num_kv_heads_ / num_heads_ : tile_positions(num_heads_, num_kv_heads_);
  for (int64_t i = start; i < end; i += positions) {
    tiles.push_back({static_cast<int32_t>(sequence), static_cast<int32_t>(first_row + i - start),
                     static_cast<int32_t>(std::min(positions, end - i)), static_cast<int32_t>(i + 1)});
  }
}

void GpuAttention::list(const std::vector<Row>& rows) {
  std::vector<BatchSequence> batch;
  slots_T_.clear();
  tiles_.clear();
  prefill_tiles_.clear();
  step_ = {};
  for (const Row& row : rows)
    step_.table_stride = std::max<int64_t>(step_.table_stride, std::ssize(row.sequence->blocks));
  block_table_.assign(rows.size() * step_.table_stride, 0);
  for (size_t r = 0; r < rows.size(); ++r) {
    const Sequence& sequence = *rows[r].sequence;
    std::copy(sequence.blocks.begin(), sequence.blocks.end(), block_table_.begin() + r * step_.table_stride);
    const int64_t start = sequence.num_cached, end = start + rows[r].num_tokens,
                  num_prefilled = std::ssize(prefill_tiles_);
    add_tiles(static_cast<int64_t>(r), std::ssize(slots_T_), start, end);
    for (int64_t i = start; i < end; ++i) slots_T_.push_back(static_cast<int32_t>(pool_.slot(sequence.blocks, i)));
    // What is prefilled shares its keys among its own rows.
    const bool is_prefill = std::ssize(prefill_tiles_) > num_prefilled;
    batch.push_back({sequence.blocks, is_prefill ? 0 : start, end - start});
    step_.max_keys = std::max(step_.max_keys, end);
  }
  step_.num_tiles = std::ssize(tiles_);
  step_.num_prefill_tiles = std::ssize(prefill_tiles_);
  shared_ = shared_prefixes(batch, pool_.block_tokens(), tile_positions(num_heads_, num_kv_heads_));
}

void GpuAttention::prepare(const std::vector<Row>& rows) {
  list(rows);
  ops::StagedLists lists;
  const size_t slots = lists.add(slots_T_), table = lists.add(block_table_), tiles = lists.add(tiles_);
  const size_t prefill = lists.add(prefill_tiles_);
  const size_t shared = lists.add(shared_.tiles), shared_keys = lists.add(shared_.keys_S);
  inputs_ = lists.copy_to_gpu(pool_.keys(0).device());
  const auto* const base = static_cast<const std::byte*>(inputs_.const_data_ptr());
  step_.slots_T = reinterpret_cast<const int32_t*>(base + slots);
  step_.block_table = reinterpret_cast<const int32_t*>(base + table);
  step_.tiles = reinterpret_cast<const cuda::AttentionTile*>(base + tiles);
  step_.prefill_tiles = reinterpret_cast<const cuda::AttentionTile*>(base + prefill);
  if (shared_.tiles.empty()) return;
  step_.shared_tiles = reinterpret_cast<const cuda::AttentionTile*>(base + shared);
  step_.shared_keys_S = reinterpret_cast<const int32_t*>(base + shared_keys);
  step_.num_shared_tiles = std::ssize(shared_.tiles);
}

void GpuAttention::turn_and_write(int64_t layer, const model::Heads& heads) const {
  const auto part = [&](const at::Tensor& x, const at::Tensor& norm_C) -> cuda::ProjectedHeads {
    return {x.data_ptr(), x.size(1) * head_dim_, nullptr, ops::data_or_null(norm_C)};
  };
  const bool turns = heads.angles != nullptr;
  const cuda::Rotate call = {.query = part(heads.query_THC, heads.q_norm_C),
                             .key = part(heads.key_TKC, heads.k_norm_C),
                             .value = part(heads.value_TKC, {}),
                             .keys = pool_.keys(layer).mutable_data_ptr(),
                             .values = pool_.values(layer).mutable_data_ptr(),
                             .key_scales = pool_.key_scales(layer),
                             .value_scales = pool_.value_scales(layer),
                             .slots_T = step_.slots_T,
                             .rotary = {turns ? heads.angles->cos_TF.const_data_ptr<float>() : nullptr,
                                        turns ? heads.angles->sin_TF.const_data_ptr<float>() : nullptr,
                                        turns ? heads.angles->cos_TF.size(1) : 0},
                             .num_tokens = heads.query_THC.size(0),
                             .num_heads = num_heads_,
                             .num_kv_heads = num_kv_heads_,
                             .head_dim = head_dim_,
                             .block_tokens = pool_.block_tokens(),
                             .norm_epsilon = static_cast<float>(heads.norm_eps),
                             .norm_offset = static_cast<float>(heads.norm_offset),
                             .dtype = ops::gpu_dtype(heads.query_THC)};
  ops::require_launched(ops::gpu().rotate(call, ops::stream_of(heads.query_THC)));
}

cuda::PagedAttention GpuAttention::attention(int64_t layer, const at::Tensor& query_THC,
                                             const kernels::ScoreRule& rule) const {
  // A window's rows see other keys each.
  const bool shares = rule.window == 0;
  return {.out = query_THC.mutable_data_ptr(),
          .query = query_THC.const_data_ptr(),
          .keys = pool_.keys(layer).const_data_ptr(),
          .values = pool_.values(layer).const_data_ptr(),
          .tiles = step_.tiles,
          .block_table = step_.block_table,
          .scratch = step_.scratch,
          .num_tiles = step_.num_tiles,
          .num_rows = query_THC.size(0),
          .num_heads = num_heads_,
          .num_kv_heads = num_kv_heads_,
          .head_dim = head_dim_,
          .table_stride = step_.table_stride,
          .block_tokens = pool_.block_tokens(),
          .max_keys = step_.max_keys,
          .scale = rule.scale,
          .softcap = rule.softcap,
          .window = rule.window,
          .dtype = ops::gpu_dtype(query_THC),
          .key_scales = pool_.key_scales(layer),
          .value_scales = pool_.value_scales(layer),
          .shared_tiles = step_.shared_tiles,
          .shared_keys_S = shares ? step_.shared_keys_S : nullptr,
          .num_shared_tiles = shares ? step_.num_shared_tiles : 0};
}

at::Tensor GpuAttention::attend(int64_t layer, model::Heads& heads, const kernels::ScoreRule& rule) {
  turn_and_write(layer, heads);
  const at::Tensor& query_THC = heads.query_THC;
  cuda::PagedAttention call = attention(layer, query_THC, rule);
  if (step_.scratch != nullptr) {
    ops::require_launched(ops::gpu().paged_attention(call, ops::stream_of(query_THC)));
    return query_THC;
  }
  if (!tiles_.empty()) ops::gpu_paged_attention(call, tiles_, query_THC);
  call.tiles = step_.prefill_tiles;
  call.num_tiles = step_.num_prefill_tiles;
  ops::require_launched(ops::gpu().prefill_attention(call, ops::stream_of(query_THC)));
  return query_THC;
}

}  // namespace seekrl::engine
