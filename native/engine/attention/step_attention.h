// The decoder's attention in a step of the engine, on whatever computes it.
#pragma once

#include <memory>
#include <vector>

#include "engine/memory/block_pool.h"
#include "engine/scheduler.h"
#include "model/attention.h"

namespace seekrl::engine {

class StepAttention : public model::Attention {
 public:
  // Once per step: where the rows' tokens go and which blocks they read.
  virtual void prepare(const std::vector<Row>& rows) = 0;
};

// For a pool's layout. `pool` outlives it.
std::unique_ptr<StepAttention> step_attention(const model::DecoderConfig& config, const BlockPool& pool);

}  // namespace seekrl::engine
