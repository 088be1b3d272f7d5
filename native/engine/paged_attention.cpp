// Gathers each sequence's keys and values and attends over them with ATen.
#include "engine/paged_attention.h"

#include <ATen/ATen.h>

namespace seekrl::engine {

namespace {

at::Tensor slots_of(const Sequence& sequence, int64_t num_tokens, const BlockPool& pool) {
  at::Tensor slots_N = at::empty({num_tokens}, at::kLong);
  int64_t* slots = slots_N.mutable_data_ptr<int64_t>();
  const int64_t size = pool.block_tokens();
  for (int64_t i = 0; i < num_tokens; ++i) slots[i] = sequence.blocks[i / size] * size + i % size;
  return slots_N;
}

at::Tensor heads_first(const at::Tensor& x_NHC) { return x_NHC.transpose(0, 1).unsqueeze(0); }

}  // namespace

void PagedAttention::prepare(const std::vector<Row>& rows) {
  const at::Device device = pool_.keys(0).device();
  contexts_.clear();
  std::vector<at::Tensor> written;
  for (const Row& row : rows) {
    const at::Tensor slots_N = slots_of(*row.sequence, row.sequence->num_cached + row.num_tokens, pool_);
    written.push_back(slots_N.slice(0, row.sequence->num_cached));
    contexts_.push_back({row.num_tokens, slots_N.to(device)});
  }
  slots_T_ = at::cat(written).to(device);
}

at::Tensor PagedAttention::attend(int64_t layer, const at::Tensor& query_THC, const at::Tensor& key_TKC,
                                  const at::Tensor& value_TKC) {
  at::Tensor keys = pool_.keys(layer), values = pool_.values(layer);
  keys.index_copy_(0, slots_T_, key_TKC);
  values.index_copy_(0, slots_T_, value_TKC);
  at::Tensor out_THC = at::empty_like(query_THC);
  int64_t start = 0;
  for (const Context& context : contexts_) {
    const int64_t num_queries = context.num_queries, num_keys = context.slots_N.size(0);
    std::optional<at::Tensor> visible;
    if (num_queries > 1) {
      visible =
          at::ones({num_queries, num_keys}, context.slots_N.options().dtype(at::kBool)).tril(num_keys - num_queries);
    }
    const at::Tensor out = at::scaled_dot_product_attention(
        heads_first(query_THC.narrow(0, start, num_queries)), heads_first(keys.index_select(0, context.slots_N)),
        heads_first(values.index_select(0, context.slots_N)), visible, 0.0, false, std::nullopt, true);
    out_THC.narrow(0, start, num_queries).copy_(out.squeeze(0).transpose(0, 1));
    start += num_queries;
  }
  return out_THC;
}

}  // namespace seekrl::engine
