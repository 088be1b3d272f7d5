// By the pool's layout.
#include "engine/attention/step_attention.h"

#include "engine/attention/gpu_attention.h"
#include "engine/attention/paged_attention.h"

namespace seekrl::engine {

std::unique_ptr<StepAttention> step_attention(const model::DecoderConfig& config, const BlockPool& pool) {
  if (pool.layout() == BlockLayout::kOnGpu) return std::make_unique<GpuAttention>(config, pool);
  return std::make_unique<PagedAttention>(config, pool);
}

}  // namespace seekrl::engine
