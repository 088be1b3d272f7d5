// Copies by blocks: threads share the blocks of all spans.
#include "ops/attention/span_pairs.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>

#include <algorithm>

#include "ops/parallel.h"

namespace seekrl::ops {

namespace {

// As many tokens as the engine's blocks have, and as the kernel takes at once.
constexpr int64_t kBlockTokens = 64;

// A run of the batch's tokens and the place of its first in its block.
struct BlockRun {
  int64_t block, start, length, place;
};

// Adds the runs of tokens that fill a span's blocks from `block` on; returns the first block behind.
int64_t add_runs(std::vector<BlockRun>& runs, const std::vector<Run>& path, int64_t block) {
  int64_t place = 0;
  for (auto [start, length] : path) {
    while (length > 0) {
      const int64_t count = std::min(length, kBlockTokens - place);
      runs.push_back({block, start, count, place});
      start += count;
      length -= count;
      place += count;
      if (place < kBlockTokens) continue;
      place = 0;
      ++block;
    }
  }
  return place > 0 ? block + 1 : block;
}

}  // namespace

kernels::PairedKeyValues PairedSpans::source(int64_t span, int64_t key_head) const {
  const int64_t num_heads = keys.size(1), head_size = keys.size(2);
  const int64_t at = (first_blocks[span - first_span] * num_heads + key_head) * head_size;
  return {.keys = static_cast<const uint16_t*>(keys.const_data_ptr()) + at,
          .values = static_cast<const uint16_t*>(values.const_data_ptr()) + at,
          .block_tokens = kBlockTokens,
          .block_stride = num_heads * head_size};
}

PairedSpans pair_spans(const at::Tensor& key_TKC, const at::Tensor& value_TKC, const Spans& spans, const Round& round) {
  const int64_t num_heads = key_TKC.size(1), head_dim = key_TKC.size(2), head_size = kBlockTokens * head_dim;
  std::vector<BlockRun> runs;
  PairedSpans paired = {{}, {}, {}, round.first_span};
  int64_t block = 0;
  for (int64_t span = round.first_span; span < round.end_span; ++span) {
    paired.first_blocks.push_back(block);
    block = add_runs(runs, path(spans, span), block);
  }
  paired.keys = at::empty({block, num_heads, head_size}, key_TKC.options().dtype(at::kBFloat16));
  paired.values = at::empty_like(paired.keys);
  auto* const keys = static_cast<uint16_t*>(paired.keys.mutable_data_ptr());
  auto* const values = static_cast<uint16_t*>(paired.values.mutable_data_ptr());
  const float *key = key_TKC.const_data_ptr<float>(), *value = value_TKC.const_data_ptr<float>();
  const auto num_runs = static_cast<int64_t>(runs.size());
  claim_items(num_runs * num_heads, block * num_heads * head_size, [&](int64_t item) {
    const BlockRun& run = runs[item / num_heads];
    const int64_t head = item % num_heads, to = (run.block * num_heads + head) * head_size;
    for (int64_t i = 0; i < run.length; ++i) {
      const int64_t from = ((run.start + i) * num_heads + head) * head_dim;
      kernels::put_paired(keys + to, values + to, kBlockTokens, run.place + i, key + from, value + from, head_dim);
    }
  });
  return paired;
}

}  // namespace seekrl::ops
