// The figures of the ops that allocate it.
#include "train/scratch_bytes.h"

#include <algorithm>

#include "ops/gpu/products/quant.h"
#include "ops/gpu/products/token_logprob.h"
#include "ops/gpu/span_tables.h"
#include "ops/head/row_chunks.h"

namespace seekrl::train {

ScratchBytes scratch_bytes(at::Device device, const ScratchSizes& sizes) {
  constexpr int64_t kFloat = 4, kHalf = 2;
  const auto& [num_kv_heads, head_dim, vocab_size, num_tokens, num_rows, is_quantised] = sizes;
  if (device.is_cpu()) return {kFloat * std::min(num_rows, ops::chunk_rows(vocab_size)) * vocab_size, 0, 0};
  const ops::LogitChunk chunk = ops::gpu_logit_chunk(num_rows, vocab_size);
  const int64_t num_places = (num_tokens + ops::kPathBlock - 1) / ops::kPathBlock * ops::kPathBlock;
  return {.logits = kFloat * chunk.rows * chunk.stride,
          .attention = 2 * kHalf * num_places * num_kv_heads * head_dim,
          .weights = is_quantised ? ops::kQuantScratch : 0};
}

}  // namespace seekrl::train
