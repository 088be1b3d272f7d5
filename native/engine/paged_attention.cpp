// The paged kernel on the CPU in f32; elsewhere ATen attends over gathered keys and values.
#include "engine/paged_attention.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernels/attention.h"
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

bool PagedAttention::runs_kernel() const {
  const at::Tensor& keys = pool_.keys(0);
  return keys.device().is_cpu() && keys.scalar_type() == at::kFloat;
}

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
    if (!runs_kernel())
      contexts_.push_back({row.num_tokens, slots_of(sequence, end, pool_).to(pool_.keys(0).device())});
  }
  if (!runs_kernel()) device_slots_T_ = at::tensor(slots_T_, at::kLong).to(pool_.keys(0).device());
}

at::Tensor PagedAttention::attend(int64_t layer, const at::Tensor& query_THC, const at::Tensor& key_TKC,
                                  const at::Tensor& value_TKC) {
  write(layer, key_TKC, value_TKC);
  return runs_kernel() ? attend_blocks(layer, query_THC.contiguous()) : attend_gathered(layer, query_THC);
}

void PagedAttention::write(int64_t layer, const at::Tensor& key_TKC, const at::Tensor& value_TKC) const {
  at::Tensor keys = pool_.keys(layer), values = pool_.values(layer);
  if (!runs_kernel()) {
    keys.index_copy_(0, device_slots_T_, key_TKC);
    values.index_copy_(0, device_slots_T_, value_TKC);
    return;
  }
  const int64_t row = key_TKC.size(1) * key_TKC.size(2);
  const at::Tensor new_keys = key_TKC.contiguous(), new_values = value_TKC.contiguous();
  const float *from_keys = new_keys.const_data_ptr<float>(), *from_values = new_values.const_data_ptr<float>();
  float *to_keys = keys.mutable_data_ptr<float>(), *to_values = values.mutable_data_ptr<float>();
  for (size_t t = 0; t < slots_T_.size(); ++t) {
    std::memcpy(to_keys + slots_T_[t] * row, from_keys + static_cast<int64_t>(t) * row, row * sizeof(float));
    std::memcpy(to_values + slots_T_[t] * row, from_values + static_cast<int64_t>(t) * row, row * sizeof(float));
  }
}

at::Tensor PagedAttention::attend_blocks(int64_t layer, const at::Tensor& query_THC) const {
  const int64_t num_heads = query_THC.size(1), head_dim = query_THC.size(2), num_kv_heads = pool_.keys(layer).size(1);
  const int64_t group = num_heads / num_kv_heads;
  const float scale = 1.0f / std::sqrt(static_cast<float>(head_dim));
  at::Tensor out_THC = at::empty_like(query_THC);
  const float *query = query_THC.const_data_ptr<float>(), *keys = pool_.keys(layer).const_data_ptr<float>(),
              *values = pool_.values(layer).const_data_ptr<float>();
  float* out = out_THC.mutable_data_ptr<float>();
  const int64_t num_scratch = kernels::attend_scratch_floats(max_keys_, head_dim);
  const auto attend_item = [&](int64_t item) {
    thread_local std::vector<float> scratch;
    if (static_cast<int64_t>(scratch.size()) < num_scratch) scratch.resize(num_scratch);
    const Piece& piece = pieces_[item / num_kv_heads];
    const int64_t kv_head = item % num_kv_heads;
    const int64_t first = (piece.first_token * num_heads + kv_head * group) * head_dim;
    const kernels::QueryRows rows{out + first,          query + first, piece.num_positions, group,
                                  num_heads * head_dim, head_dim,      piece.num_keys};
    const kernels::KeyValues source{keys + kv_head * head_dim,
                                    values + kv_head * head_dim,
                                    piece.block_table,
                                    pool_.block_tokens(),
                                    pool_.block_tokens() * num_kv_heads * head_dim,
                                    num_kv_heads * head_dim};
    kernels::attend(rows, source, head_dim, scale, nullptr, scratch.data());
  };
  const auto num_items = static_cast<int64_t>(pieces_.size()) * num_kv_heads;
  ops::claim_items(num_items, 2 * work_ * num_heads * head_dim, attend_item);
  return out_THC;
}

at::Tensor PagedAttention::attend_gathered(int64_t layer, const at::Tensor& query_THC) const {
  at::Tensor out_THC = at::empty_like(query_THC);
  int64_t start = 0;
  for (const Context& context : contexts_) {
    const int64_t num_queries = context.num_queries;
    const at::Tensor keys = pool_.keys(layer).index_select(0, context.slots_N);
    const at::Tensor values = pool_.values(layer).index_select(0, context.slots_N);
    const at::Tensor out = at::scaled_dot_product_attention(
        heads_first(query_THC.narrow(0, start, num_queries)), heads_first(keys), heads_first(values),
        causal_mask(num_queries, keys.size(0), keys.device()), 0.0, false, std::nullopt, true);
    out_THC.narrow(0, start, num_queries).copy_(out.squeeze(0).transpose(0, 1));
    start += num_queries;
  }
  return out_THC;
}

}  // namespace seekrl::engine
