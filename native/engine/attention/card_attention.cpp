// One copy of integers to the card a step; then two launches a layer.
#include "engine/attention/card_attention.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>

#include <algorithm>
#include <numeric>

#include "ops/card/card.h"

namespace seekrl::engine {

namespace {

// Integers of which each list begins at a multiple of 16 bytes.
constexpr int64_t kAligned = 4;

int64_t aligned(int64_t count) { return (count + kAligned - 1) / kAligned * kAligned; }

}  // namespace

CardAttention::CardAttention(const model::DecoderConfig& config, const BlockPool& pool)
    : pool_(pool), num_heads_(config.num_heads), num_kv_heads_(config.num_kv_heads), head_dim_(config.head_dim) {}

void CardAttention::list(const std::vector<Row>& rows) {
  const int64_t tile_positions = std::max<int64_t>(1, cuda::kTileRows * num_kv_heads_ / num_heads_);
  slots_T_.clear();
  tiles_.clear();
  table_stride_ = max_keys_ = 0;
  for (const Row& row : rows) table_stride_ = std::max(table_stride_, std::ssize(row.sequence->blocks));
  block_table_.assign(rows.size() * table_stride_, 0);
  for (size_t r = 0; r < rows.size(); ++r) {
    const Sequence& sequence = *rows[r].sequence;
    std::copy(sequence.blocks.begin(), sequence.blocks.end(), block_table_.begin() + r * table_stride_);
    const int64_t start = sequence.num_cached, end = start + rows[r].num_tokens, first = std::ssize(slots_T_);
    for (int64_t i = start; i < end; ++i) slots_T_.push_back(static_cast<int32_t>(pool_.slot(sequence.blocks, i)));
    for (int64_t i = start; i < end; i += tile_positions) {
      const int64_t row = first + i - start, count = std::min(tile_positions, end - i);
      for (const int64_t each : {static_cast<int64_t>(r), row, count, i + 1}) {
        tiles_.push_back(static_cast<int32_t>(each));
      }
    }
    max_keys_ = std::max(max_keys_, end);
  }
  rows_T_.resize(slots_T_.size());
  std::iota(rows_T_.begin(), rows_T_.end(), 0);
}

void CardAttention::prepare(const std::vector<Row>& rows) {
  list(rows);
  const std::vector<int32_t>* const lists[] = {&slots_T_, &rows_T_, &block_table_, &tiles_};
  at::Tensor* const parts[] = {&device_slots_T_, &device_rows_T_, &device_table_, &device_tiles_};
  std::vector<int32_t> all;
  for (const auto* each : lists) {
    all.insert(all.end(), each->begin(), each->end());
    all.resize(aligned(std::ssize(all)));
  }
  inputs_ = at::from_blob(all.data(), {std::ssize(all)}, at::kInt).to(pool_.keys(0).device());
  int64_t at = 0;
  for (size_t i = 0; i < std::size(lists); ++i) {
    *parts[i] = inputs_.narrow(0, at, std::ssize(*lists[i]));
    at += aligned(std::ssize(*lists[i]));
  }
}

void CardAttention::turn_and_write(int64_t layer, const model::Heads& heads) const {
  const auto part = [&](const at::Tensor& x, const at::Tensor& norm_C) -> cuda::ProjectedHeads {
    return {x.data_ptr(), x.size(1) * head_dim_, nullptr, ops::data_or_null(norm_C)};
  };
  const bool turns = heads.angles != nullptr;
  const cuda::Rotate call = {.query = part(heads.query_THC, heads.q_norm_C),
                             .key = part(heads.key_TKC, heads.k_norm_C),
                             .value = part(heads.value_TKC, {}),
                             .keys = pool_.keys(layer).mutable_data_ptr(),
                             .values = pool_.values(layer).mutable_data_ptr(),
                             .slots_T = device_slots_T_.const_data_ptr<int32_t>(),
                             .rotary = {device_rows_T_.const_data_ptr<int32_t>(),
                                        turns ? heads.angles->cos_TF.const_data_ptr<float>() : nullptr,
                                        turns ? heads.angles->sin_TF.const_data_ptr<float>() : nullptr,
                                        turns ? heads.angles->cos_TF.size(1) : 0},
                             .num_tokens = heads.query_THC.size(0),
                             .num_heads = num_heads_,
                             .num_kv_heads = num_kv_heads_,
                             .head_dim = head_dim_,
                             .block_tokens = pool_.block_tokens(),
                             .norm_epsilon = static_cast<float>(heads.norm_eps),
                             .norm_offset = static_cast<float>(heads.norm_offset),
                             .dtype = ops::card_dtype(heads.query_THC)};
  ops::check(ops::card().rotate(call, ops::stream_of(heads.query_THC)));
}

at::Tensor CardAttention::attend(int64_t layer, model::Heads& heads, const kernels::ScoreRule& rule) {
  turn_and_write(layer, heads);
  const at::Tensor& query_THC = heads.query_THC;
  const int64_t num_rows = query_THC.size(0);
  const int64_t num_scratch = ops::card().paged_attention_scratch_floats(num_rows, num_heads_, head_dim_, max_keys_);
  if (!scratch_.defined() || scratch_.numel() < num_scratch) {
    scratch_ = at::empty({num_scratch}, query_THC.options().dtype(at::kFloat));
  }
  const cuda::PagedAttention call = {
      .out = query_THC.mutable_data_ptr(),
      .query = query_THC.const_data_ptr(),
      .keys = pool_.keys(layer).const_data_ptr(),
      .values = pool_.values(layer).const_data_ptr(),
      .tiles = reinterpret_cast<const cuda::AttentionTile*>(device_tiles_.const_data_ptr<int32_t>()),
      .block_table = device_table_.const_data_ptr<int32_t>(),
      .scratch = scratch_.mutable_data_ptr<float>(),
      .num_tiles = device_tiles_.numel() / 4,
      .num_rows = num_rows,
      .num_heads = num_heads_,
      .num_kv_heads = num_kv_heads_,
      .head_dim = head_dim_,
      .table_stride = table_stride_,
      .block_tokens = pool_.block_tokens(),
      .max_keys = max_keys_,
      .scale = rule.scale,
      .softcap = rule.softcap,
      .window = rule.window,
      .dtype = ops::card_dtype(query_THC)};
  ops::check(ops::card().paged_attention(call, ops::stream_of(query_THC)));
  return query_THC;
}

}  // namespace seekrl::engine
