// By the pool's layout.
#include "engine/attention/step_attention.h"

#include "engine/attention/card_attention.h"
#include "engine/attention/paged_attention.h"

namespace seekrl::engine {

std::unique_ptr<StepAttention> step_attention(const model::DecoderConfig& config, const BlockPool& pool) {
  if (pool.layout() == BlockLayout::kOnCard) return std::make_unique<CardAttention>(config, pool);
  return std::make_unique<PagedAttention>(config, pool);
}

}  // namespace seekrl::engine
