// The keys and values of spans that continue others, copied end to end for the attention kernel.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "ops/attention/spans.h"

namespace seekrl::ops {

// Spans attended at once: so many that their copied paths hold a few times the batch's tokens and no more.
struct Round {
  int64_t first_span, end_span;
  // Where each span's path begins in the copies, in tokens; -1 for a span without a parent, which is read in place.
  std::vector<int64_t> offsets;
  int64_t num_copied;

  int64_t offset(int64_t span) const { return offsets[span - first_span]; }
};

// All spans, in their order. Depends on the spans alone, so that the sums over rounds do.
std::vector<Round> rounds_of(const Spans& spans);

// f32 [T, K, C] -> [num_copied, K, C]; undefined when nothing is copied.
at::Tensor copy_paths(const at::Tensor& x_TKC, const Spans& spans, const Round& round);

// to_TKC += the paths' rows [num_copied, K, C], each where it was copied from, in the order of the spans.
void add_paths(const at::Tensor& to_TKC, const at::Tensor& paths_NKC, const Spans& spans, const Round& round);

}  // namespace seekrl::ops
