// Pieces of sequences under one key head, claimed by threads.
#include "engine/attention/paged_attention.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty_like.h>

#include <algorithm>

#include "ops/parallel.h"
#include "ops/scratch.h"

namespace seekrl::engine {

namespace {

constexpr int64_t kPiecePositions = 16;

// A token's key and value of C floats, to their place in the block's part of one key head: keys [C, block_tokens],
// values [block_tokens, C].
void put(float* keys, float* values, int64_t block_tokens, int64_t place, const float* key, const float* value,
         int64_t head_dim) {
  for (int64_t c = 0; c < head_dim; ++c) keys[c * block_tokens + place] = key[c];
  std::copy_n(value, head_dim, values + place * head_dim);
}

void put(uint16_t* keys, uint16_t* values, int64_t block_tokens, int64_t place, const float* key, const float* value,
         int64_t head_dim) {
  kernels::put_paired(keys, values, block_tokens, place, key, value, head_dim);
}

}  // namespace

PagedAttention::PagedAttention(const model::DecoderConfig& config, const BlockPool& pool)
    : pool_(pool),
      num_heads_(config.num_heads),
      num_kv_heads_(config.num_kv_heads),
      head_dim_(config.head_dim),
      is_paired_(pool.layout() == BlockLayout::kPaired) {}

void PagedAttention::prepare(const std::vector<Row>& rows) {
  slots_T_.clear();
  pieces_.clear();
  work_ = max_keys_ = 0;
  for (const Row& row : rows) {
    const Sequence& sequence = *row.sequence;
    const int64_t start = sequence.num_cached, end = start + row.num_tokens;
    const auto first = static_cast<int64_t>(slots_T_.size());
    for (int64_t i = start; i < end; ++i) slots_T_.push_back(pool_.slot(sequence.blocks, i));
    for (int64_t i = start; i < end; i += kPiecePositions) {
      pieces_.push_back({sequence.blocks.data(), first + i - start, std::min(kPiecePositions, end - i), i + 1});
    }
    work_ += row.num_tokens * end;
    max_keys_ = std::max(max_keys_, end);
  }
}

at::Tensor PagedAttention::attend(int64_t layer, model::Heads& heads, const kernels::ScoreRule& rule) {
  heads.turn();
  write(layer, heads.key_TKC.contiguous(), heads.value_TKC.contiguous());
  return attend_blocks(layer, heads.query_THC.contiguous(), rule);
}

void PagedAttention::write(int64_t layer, const at::Tensor& key_TKC, const at::Tensor& value_TKC) const {
  const int64_t size = pool_.block_tokens(), head_size = size * head_dim_;
  const auto write_to = [&](auto* keys, auto* values) {
    const float *key = key_TKC.const_data_ptr<float>(), *value = value_TKC.const_data_ptr<float>();
    for (const int64_t slot : slots_T_) {
      int64_t at = slot / size * num_kv_heads_ * head_size;
      for (int64_t head = 0; head < num_kv_heads_; ++head, at += head_size, key += head_dim_, value += head_dim_) {
        put(keys + at, values + at, size, slot % size, key, value, head_dim_);
      }
    }
  };
  void *const keys = pool_.keys(layer).mutable_data_ptr(), *const values = pool_.values(layer).mutable_data_ptr();
  if (is_paired_) return write_to(static_cast<uint16_t*>(keys), static_cast<uint16_t*>(values));
  write_to(static_cast<float*>(keys), static_cast<float*>(values));
}

// Where one key head's keys and values lie, f32.
kernels::KeyValues PagedAttention::source(int64_t layer, int64_t head, const int32_t* block_table) const {
  const int64_t size = pool_.block_tokens(), head_size = size * head_dim_;
  return {.keys = pool_.keys(layer).const_data_ptr<float>() + head * head_size,
          .values = pool_.values(layer).const_data_ptr<float>() + head * head_size,
          .block_table = block_table,
          .block_tokens = size,
          .block_stride = num_kv_heads_ * head_size,
          .token_stride = head_dim_,
          .keys_by_channel = true};
}

// The same of bf16 in pairs.
kernels::PairedKeyValues PagedAttention::paired_source(int64_t layer, int64_t head, const int32_t* block_table) const {
  const int64_t size = pool_.block_tokens(), head_size = size * head_dim_;
  return {.keys = static_cast<const uint16_t*>(pool_.keys(layer).const_data_ptr()) + head * head_size,
          .values = static_cast<const uint16_t*>(pool_.values(layer).const_data_ptr()) + head * head_size,
          .block_table = block_table,
          .block_tokens = size,
          .block_stride = num_kv_heads_ * head_size};
}

at::Tensor PagedAttention::attend_blocks(int64_t layer, const at::Tensor& query_THC,
                                         const kernels::ScoreRule& rule) const {
  const int64_t group = num_heads_ / num_kv_heads_;
  at::Tensor out_THC = at::empty_like(query_THC);
  const float* query = query_THC.const_data_ptr<float>();
  float* out = out_THC.mutable_data_ptr<float>();
  const int64_t num_scratch = kernels::attend_scratch_floats(max_keys_, head_dim_);
  const auto attend_item = [&](int64_t item) {
    const Piece& piece = pieces_[item / num_kv_heads_];
    const int64_t head = item % num_kv_heads_;
    const int64_t first = (piece.first_token * num_heads_ + head * group) * head_dim_;
    const kernels::QueryRows rows{.out = out + first,
                                  .query = query + first,
                                  .num_positions = piece.num_positions,
                                  .num_heads = group,
                                  .position_stride = num_heads_ * head_dim_,
                                  .head_stride = head_dim_,
                                  .num_keys = piece.num_keys};
    float* const scratch = ops::scratch<float, ops::Scratch::kScores>(num_scratch);
    if (is_paired_) {
      const kernels::PairedKeyValues source = paired_source(layer, head, piece.block_table);
      return kernels::attend_bf16(rows, source, head_dim_, rule, nullptr, scratch);
    }
    kernels::attend(rows, source(layer, head, piece.block_table), head_dim_, rule, nullptr, scratch);
  };
  const auto num_items = static_cast<int64_t>(pieces_.size()) * num_kv_heads_;
  ops::claim_items(num_items, 2 * work_ * num_heads_ * head_dim_, attend_item);
  return out_THC;
}

}  // namespace seekrl::engine
