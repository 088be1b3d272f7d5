// The one seam of the decoder: where a layer's keys and values live and which of them a token may see.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <utility>

#include "kernels/attention.h"
#include "model/rope/rope_table.h"
#include "ops/attention/spans.h"
#include "ops/gpu/span_tables.h"

namespace seekrl::model {

// What a layer's projections give, and what is done to it before queries meet keys.
struct Heads {
  at::Tensor query_THC, key_TKC, value_TKC;
  at::Tensor q_norm_C, k_norm_C;  // undefined without norms of heads
  double norm_eps, norm_offset;
  const RopeTable::Angles* angles;  // null where positions do not turn them

  // Queries and keys become normalised and rotated.
  void turn();
};

// Training attends over a packed batch's spans (SpanAttention); the engine writes keys and values into
// its block pool and attends over a sequence's blocks. The forward is the same code for both.
class Attention {
 public:
  virtual ~Attention() = default;

  // Returns [T, H, C]. Causal. `heads` may be overwritten.
  virtual at::Tensor attend(int64_t layer, Heads& heads, const kernels::ScoreRule& rule) = 0;
};

// Causal attention over the spans of a packed batch, with autograd and without a cache. dtype: the decoder's.
class SpanAttention : public Attention {
 public:
  SpanAttention(ops::Spans spans, at::ScalarType dtype) : spans_(std::move(spans)), dtype_(dtype) {}
  at::Tensor attend(int64_t layer, Heads& heads, const kernels::ScoreRule& rule) override;

 private:
  ops::Spans spans_;
  at::ScalarType dtype_;
  ops::SpanTables tables_;  // on a GPU, from the first layer on
};

}  // namespace seekrl::model
