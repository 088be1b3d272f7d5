// The paged kernel on the CPU in f32; elsewhere ATen attends over gathered keys and values.
#include "engine/paged_attention.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernels/attention.h"
#include "ops/kernel_path.h"
#include "ops/parallel.h"

namespace seekrl::engine {

namespace {

constexpr int64_t kPiecePositions = 16;

at::Tensor slots_of(const Sequence& sequence, int64_t num_tokens, const BlockPool& pool) {
  at::Tensor slots_N = at::empty({num_tokens}, at::kLong);
  int64_t* slots = slots_N.mutable_data_ptr<int64_t>();
  for (int64_t i = 0; i < num_tokens; ++i) slots[i] = pool.slot(sequence.blocks, i);
  return slots_N;
}

at::Tensor heads_first(const at::Tensor& x_NHC) { return x_NHC.transpose(0, 1).unsqueeze(0); }

// Query i of the last `num_queries` of `num_keys` tokens sees the tokens up to itself; null for a single query.
std::optional<at::Tensor> causal_mask(int64_t num_queries, int64_t num_keys, at::Device device) {
  if (num_queries == 1) return std::nullopt;
  return at::ones({num_queries, num_keys}, at::device(device).dtype(at::kBool)).tril(num_keys - num_queries);
}

}  // namespace

PagedAttention::PagedAttention(const model::DecoderConfig& config, const BlockPool& pool)
    : pool_(pool),
      num_heads_(config.num_heads),
      num_kv_heads_(config.num_kv_heads),
      head_dim_(config.head_dim),
      runs_kernel_(pool.keys(0).device().is_cpu() && pool.keys(0).scalar_type() == at::kFloat) {}

void PagedAttention::prepare(const std::vector<Row>& rows) {
  slots_T_.clear();
  pieces_.clear();
  contexts_.clear();
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
    if (!runs_kernel_) contexts_.push_back({row.num_tokens, slots_of(sequence, end, pool_).to(pool_.keys(0).device())});
  }
  if (!runs_kernel_) device_slots_T_ = at::tensor(slots_T_, at::kLong).to(pool_.keys(0).device());
}

at::Tensor PagedAttention::attend(int64_t layer, const at::Tensor& query_THC, const at::Tensor& key_TKC,
                                  const at::Tensor& value_TKC) {
  if (!runs_kernel_) {
    pool_rows(pool_.keys(layer)).index_copy_(0, device_slots_T_, key_TKC);
    pool_rows(pool_.values(layer)).index_copy_(0, device_slots_T_, value_TKC);
    return attend_gathered(layer, query_THC);
  }
  write(layer, key_TKC.contiguous(), value_TKC.contiguous());
  return attend_blocks(layer, query_THC.contiguous());
}

// Keys or values that lie by token as [num_blocks * block_tokens, K, C].
at::Tensor PagedAttention::pool_rows(const at::Tensor& blocks) const {
  return blocks.view({-1, num_kv_heads_, head_dim_});
}

PagedAttention::Strides PagedAttention::strides() const {
  const int64_t size = pool_.block_tokens();
  if (pool_.layout() == BlockLayout::kByToken)
    return {head_dim_, num_kv_heads_ * head_dim_, 1, num_kv_heads_ * head_dim_};
  return {size * head_dim_, 1, size, head_dim_};
}

void PagedAttention::write(int64_t layer, const at::Tensor& key_TKC, const at::Tensor& value_TKC) const {
  const auto [head_stride, key_stride, channel_stride, value_stride] = strides();
  const float *key = key_TKC.const_data_ptr<float>(), *value = value_TKC.const_data_ptr<float>();
  float* const keys = pool_.keys(layer).mutable_data_ptr<float>();
  float* const values = pool_.values(layer).mutable_data_ptr<float>();
  const int64_t size = pool_.block_tokens(), block_stride = size * num_kv_heads_ * head_dim_;
  for (const int64_t slot : slots_T_) {
    const int64_t block = slot / size * block_stride, place = slot % size;
    for (int64_t head = 0; head < num_kv_heads_; ++head, key += head_dim_, value += head_dim_) {
      float* to_key = keys + block + head * head_stride + place * key_stride;
      for (int64_t c = 0; c < head_dim_; ++c) to_key[c * channel_stride] = key[c];
      std::memcpy(values + block + head * head_stride + place * value_stride, value, head_dim_ * sizeof(float));
    }
  }
}

at::Tensor PagedAttention::attend_blocks(int64_t layer, const at::Tensor& query_THC) const {
  const int64_t group = num_heads_ / num_kv_heads_, head_stride = strides().head;
  const float scale = 1.0f / std::sqrt(static_cast<float>(head_dim_));
  at::Tensor out_THC = at::empty_like(query_THC);
  const float *query = query_THC.const_data_ptr<float>(), *keys = pool_.keys(layer).const_data_ptr<float>(),
              *values = pool_.values(layer).const_data_ptr<float>();
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
    const kernels::KeyValues source{.keys = keys + head * head_stride,
                                    .values = values + head * head_stride,
                                    .block_table = piece.block_table,
                                    .block_tokens = pool_.block_tokens(),
                                    .block_stride = pool_.block_tokens() * num_kv_heads_ * head_dim_,
                                    .token_stride = strides().value,
                                    .keys_by_channel = pool_.layout() == BlockLayout::kByHead};
    kernels::attend(rows, source, head_dim_, scale, nullptr, ops::scratch(num_scratch));
  };
  const auto num_items = static_cast<int64_t>(pieces_.size()) * num_kv_heads_;
  ops::claim_items(num_items, 2 * work_ * num_heads_ * head_dim_, attend_item);
  return out_THC;
}

at::Tensor PagedAttention::attend_gathered(int64_t layer, const at::Tensor& query_THC) const {
  at::Tensor out_THC = at::empty_like(query_THC);
  int64_t start = 0;
  for (const Context& context : contexts_) {
    const int64_t num_queries = context.num_queries;
    const at::Tensor keys = pool_rows(pool_.keys(layer)).index_select(0, context.slots_N);
    const at::Tensor values = pool_rows(pool_.values(layer)).index_select(0, context.slots_N);
    const at::Tensor out = at::scaled_dot_product_attention(
        heads_first(query_THC.narrow(0, start, num_queries)), heads_first(keys), heads_first(values),
        causal_mask(num_queries, keys.size(0), keys.device()), 0.0, false, std::nullopt, true);
    out_THC.narrow(0, start, num_queries).copy_(out.squeeze(0).transpose(0, 1));
    start += num_queries;
  }
  return out_THC;
}

}  // namespace seekrl::engine
