// The decoder's attention over a block pool on a card.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "engine/attention/step_attention.h"
#include "kernels/cuda/attention/paged.h"

namespace seekrl::engine {

class CardAttention : public StepAttention {
 public:
  CardAttention(const model::DecoderConfig& config, const BlockPool& pool);

  void prepare(const std::vector<Row>& rows) override;

  at::Tensor attend(int64_t layer, model::Heads& heads, const kernels::ScoreRule& rule) override;

 private:
  void list(const std::vector<Row>& rows);
  void turn_and_write(int64_t layer, const model::Heads& heads) const;

  const BlockPool& pool_;
  const int64_t num_heads_, num_kv_heads_, head_dim_;
  std::vector<int32_t> slots_T_, rows_T_, block_table_, tiles_;  // of the step, on the host
  int64_t table_stride_ = 0, max_keys_ = 0;
  at::Tensor inputs_;  // all of them on the card, one behind the other
  at::Tensor device_slots_T_, device_rows_T_, device_table_, device_tiles_;
  at::Tensor scratch_;  // grows
};

}  // namespace seekrl::engine
