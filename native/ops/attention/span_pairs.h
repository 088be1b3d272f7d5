// The keys and values that spans see, rounded and in pairs, for the attention kernel of bf16.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "kernels/attention.h"
#include "ops/attention/span_paths.h"
#include "ops/attention/spans.h"

namespace seekrl::ops {

// Each span of a round has blocks of its own, with all that it sees from the first token on.
struct PairedSpans {
  at::Tensor keys, values;            // bf16 [blocks, K, block_tokens x C]
  std::vector<int64_t> first_blocks;  // of each span of the round
  int64_t first_span;

  kernels::PairedKeyValues source(int64_t span, int64_t key_head) const;
};

// key_TKC, value_TKC: f32, contiguous.
PairedSpans pair_spans(const at::Tensor& key_TKC, const at::Tensor& value_TKC, const Spans& spans, const Round& round);

}  // namespace seekrl::ops
