// Asked of those who take it.
#include "train/scratch_bytes.h"

#include <algorithm>

#include "ops/card/paged_attention.h"
#include "ops/card/products/quant.h"
#include "ops/card/products/token_logprob.h"
#include "ops/head/row_chunks.h"

namespace seekrl::train {

ScratchBytes scratch_bytes(at::Device device, const ScratchSizes& sizes) {
  constexpr int64_t kFloat = 4;
  const auto& [num_heads, head_dim, vocab_size, num_tokens, num_rows, is_quantised] = sizes;
  if (device.is_cpu()) return {kFloat * std::min(num_rows, ops::chunk_rows(vocab_size)) * vocab_size, 0, 0};
  const ops::LogitChunk chunk = ops::card_logit_chunk(num_rows, vocab_size);
  // All tokens may be one path.
  return {.logits = kFloat * chunk.rows * chunk.stride,
          .attention = kFloat * ops::paged_scratch_floats(num_tokens, num_heads, head_dim, num_tokens),
          .weights = is_quantised ? ops::kQuantScratch : 0};
}

}  // namespace seekrl::train
