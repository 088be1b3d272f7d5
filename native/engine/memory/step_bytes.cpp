// Sizes alone: a trial step would cost seconds at every start, and its peak would be that of one shape.
#include "engine/memory/step_bytes.h"

#include <algorithm>

#include "engine/attention/gpu_attention.h"
#include "ops/gpu/gpu.h"
#include "ops/gpu/memory.h"
#include "ops/gpu/paged_attention.h"
#include "ops/gpu/products/token_logprob.h"

namespace seekrl::engine {

namespace {

constexpr int64_t kHalf = 2, kFloat = 4;  // bytes
// Of each token: ids, position, slot, row and tile of it, 8 bytes at most, and the angles it is turned by.
constexpr int64_t kTokenInputs = 5 * 8;
constexpr int64_t kReserve = 10;  // one of so many of the GPU's bytes

// Residual, its normed copy, a layer's sum and one more, beside the widest of what attention and network make of them.
int64_t layer_numbers(const model::DecoderConfig& config) {
  const int64_t d = config.hidden_size, heads = config.num_heads + 2 * config.num_kv_heads;
  const bool has_experts = config.num_experts > 0;
  const int64_t chosen = has_experts ? config.num_chosen_experts : 1;
  const int64_t network = chosen * (3 * config.intermediate_size + (has_experts ? 3 * d : 0)) + 2 * config.num_experts;
  return 4 * d + std::max(heads * config.head_dim + d, network);
}

}  // namespace

int64_t step_bytes(const model::DecoderConfig& config, const StepSizes& sizes) {
  const int64_t num_tokens = sizes.limits.max_batch_tokens, vocab = config.vocab_size;
  const int64_t num_rows = std::min(sizes.limits.max_batch_rows, num_tokens);
  const int64_t token = kHalf * layer_numbers(config) + 4 * kFloat * config.head_dim + kTokenInputs;
  // Twice: what has logits may be gathered for those that draw, and a graph keeps its own.
  const int64_t logits = 2 * num_rows * vocab * kFloat;
  const int64_t scores = std::min(num_tokens * vocab, ops::kChunkLogits) * kFloat;
  const auto splits = [&](int64_t count) {
    return kFloat *
           ops::gpu().paged_attention_scratch_floats(count, config.num_heads, config.head_dim, sizes.max_tokens);
  };
  // Longer chunks keep nothing of splits.
  const int64_t num_split = std::min(num_tokens, num_rows * prefill_tokens(config.num_heads, config.num_kv_heads));
  const int64_t chunk =
      kFloat * ops::paged_scratch_floats(num_split, config.num_heads, config.head_dim, sizes.max_tokens);
  return (num_tokens + num_rows) * token + logits + scores + chunk + splits(num_rows);
}

int64_t room_beside_step(at::Device device, int64_t step_bytes) {
  const ops::GpuMemory memory = ops::memory_of(device);
  return std::max<int64_t>(0, memory.free_bytes - memory.all_bytes / kReserve - step_bytes);
}

}  // namespace seekrl::engine
