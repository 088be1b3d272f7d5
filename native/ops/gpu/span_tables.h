// What kernels on a GPU are told of a batch's spans: integers on the device, made once a batch.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "ops/attention/spans.h"

namespace seekrl::ops {

// i32. For gradients, as kernels/cuda/attention/span.h has them: what the last token of span s sees is
// path[path_start_S[s]] to path[path_start_S[s + 1]], excluded; what sees it, viewers likewise.
struct SpanTables {
  at::Tensor tiles;  // [tiles, 3]
  at::Tensor path, path_start_S;
  at::Tensor viewers, viewers_start_S;
  at::Tensor position_T;
  // The way there is attention/prefill.h's, so that a row has the bits that generation gives it: blocks of kPathBlock
  // tokens hold each span's path, those that its parent's path fills being the parent's.
  at::Tensor row_tiles;    // [tiles, 4]
  at::Tensor block_heads;  // [blocks * K * kPathBlock], which of the batch's [T * K] heads stands there; any where none
  at::Tensor block_table;  // [S, most blocks of a span]
  int64_t max_keys = 0;    // of any token
};

constexpr int64_t kPathBlock = 16;

SpanTables span_tables(const Spans& spans, int64_t num_heads, int64_t num_kv_heads, at::Device device);

}  // namespace seekrl::ops
