// The decoder's attention over a block pool on a GPU.
#pragma once

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "engine/attention/shared_prefix.h"
#include "engine/attention/step_attention.h"
#include "kernels/cuda/attention/prefill.h"

namespace seekrl::engine {

// A step's rows on the GPU, as cuda::Rotate and cuda::PagedAttention have them.
struct GpuStep {
  const int32_t* slots_T;
  const cuda::AttentionTile* tiles;
  const int32_t* block_table;
  int64_t num_tiles, table_stride;
  int64_t max_keys;          // of any row, or more
  float* scratch = nullptr;  // that stays where it is; null: made for each layer
  const cuda::AttentionTile* shared_tiles = nullptr;
  const int32_t* shared_keys_S = nullptr;
  int64_t num_shared_tiles = 0;
  const cuda::AttentionTile* prefill_tiles = nullptr;  // as cuda::prefill_attention has them
  int64_t num_prefill_tiles = 0;
};

// Positions of a sequence that a tile has rows for.
inline int64_t tile_positions(int64_t num_heads, int64_t num_kv_heads) {
  return std::max<int64_t>(1, cuda::kTileRows * num_kv_heads / num_heads);
}

// New tokens of a sequence from which on its rows go through cuda::prefill_attention, which has the same bits: those
// that fill a tile of it. Of as many, tiles of cuda::paged_attention would read all keys four times or more; of fewer,
// splits of the keys keep more of a GPU at work than rows do.
inline int64_t prefill_tokens(int64_t num_heads, int64_t num_kv_heads) {
  return (cuda::kPrefillRows * num_kv_heads + num_heads - 1) / num_heads;
}

class GpuAttention : public StepAttention {
 public:
  GpuAttention(const model::DecoderConfig& config, const BlockPool& pool);

  void prepare(const std::vector<Row>& rows) override;
  // Rows that are there already, for as long as they are attended to.
  void prepare(const GpuStep& step) { step_ = step; }

  at::Tensor attend(int64_t layer, model::Heads& heads, const kernels::ScoreRule& rule) override;

 private:
  void list(const std::vector<Row>& rows);
  void add_tiles(int64_t sequence, int64_t first_row, int64_t start, int64_t end);
  void turn_and_write(int64_t layer, const model::Heads& heads) const;
  cuda::PagedAttention attention(int64_t layer, const at::Tensor& query_THC, const kernels::ScoreRule& rule) const;

  const BlockPool& pool_;
  const int64_t num_heads_, num_kv_heads_, head_dim_;
  // Of the step, on the host.
  std::vector<int32_t> slots_T_, block_table_;
  std::vector<cuda::AttentionTile> tiles_, prefill_tiles_;
  SharedPrefixes shared_;
  at::Tensor inputs_;  // all of them on the GPU, one behind the other
  GpuStep step_ = {};
};

}  // namespace seekrl::engine
