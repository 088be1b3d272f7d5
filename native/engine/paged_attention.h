// The decoder's attention over the block pool: writes a step's keys and values, then attends over each sequence's.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "engine/block_pool.h"
#include "engine/scheduler.h"
#include "model/attention.h"

namespace seekrl::engine {

class PagedAttention : public model::Attention {
 public:
  explicit PagedAttention(const BlockPool& pool) : pool_(pool) {}

  // Once per step: where the rows' tokens go and which blocks they read.
  void prepare(const std::vector<Row>& rows);

  at::Tensor attend(int64_t layer, const at::Tensor& query_THC, const at::Tensor& key_TKC,
                    const at::Tensor& value_TKC) override;

 private:
  struct Context {
    int64_t num_queries;
    at::Tensor slots_N;  // where the sequence's tokens live, up to and with the row's last
  };

  const BlockPool& pool_;
  at::Tensor slots_T_;
  std::vector<Context> contexts_;
};

}  // namespace seekrl::engine
