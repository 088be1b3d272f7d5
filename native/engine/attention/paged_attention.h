// The decoder's attention over the block pool: writes a step's keys and values, then attends over each sequence's.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "engine/attention/step_attention.h"
#include "engine/memory/block_pool.h"
#include "engine/scheduler.h"
#include "kernels/attention.h"

namespace seekrl::engine {

// On the CPU: the kernel that training runs, over keys and values in the model's dtype, so that both give the same
// bits.
class PagedAttention : public StepAttention {
 public:
  PagedAttention(const model::DecoderConfig& config, const BlockPool& pool);

  void prepare(const std::vector<Row>& rows) override;

  at::Tensor attend(int64_t layer, model::Heads& heads, const kernels::ScoreRule& rule) override;

 private:
  // Consecutive positions of one sequence, few enough to share among threads.
  struct Piece {
    const int32_t* block_table;
    int64_t first_token;  // in the step's flat list
    int64_t num_positions;
    int64_t num_keys;  // of the first position
  };

  void write(int64_t layer, const at::Tensor& key_TKC, const at::Tensor& value_TKC) const;
  kernels::KeyValues source(int64_t layer, int64_t head, const int32_t* block_table) const;
  kernels::PairedKeyValues paired_source(int64_t layer, int64_t head, const int32_t* block_table) const;
  at::Tensor attend_blocks(int64_t layer, const at::Tensor& query_THC, const kernels::ScoreRule& rule) const;

  const BlockPool& pool_;
  const int64_t num_heads_, num_kv_heads_, head_dim_;
  const bool is_paired_;          // the pool holds bf16 as attend_bf16 takes it
  std::vector<int64_t> slots_T_;  // row of the pool each token is written to
  std::vector<Piece> pieces_;
  int64_t work_ = 0;      // query-key pairs
  int64_t max_keys_ = 0;  // of any position
};

}  // namespace seekrl::engine
