// The one seam of the decoder: where a layer's keys and values live and which of them a token may see.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <utility>

#include "kernels/attention.h"
#include "ops/attention/spans.h"

namespace seekrl::model {

// Training attends over a packed batch's spans (SpanAttention); the engine writes keys and values into
// its block pool and attends over a sequence's blocks. The forward is the same code for both.
class Attention {
 public:
  virtual ~Attention() = default;

  // query_THC is rotated and normalised already, as is key_TKC. Returns [T, H, C]. Causal.
  virtual at::Tensor attend(int64_t layer, const at::Tensor& query_THC, const at::Tensor& key_TKC,
                            const at::Tensor& value_TKC, const kernels::ScoreRule& rule) = 0;
};

// Causal attention over the spans of a packed batch, with autograd and without a cache. dtype: the decoder's.
class SpanAttention : public Attention {
 public:
  SpanAttention(ops::Spans spans, at::ScalarType dtype) : spans_(std::move(spans)), dtype_(dtype) {}
  at::Tensor attend(int64_t layer, const at::Tensor& query_THC, const at::Tensor& key_TKC, const at::Tensor& value_TKC,
                    const kernels::ScoreRule& rule) override;

 private:
  ops::Spans spans_;
  at::ScalarType dtype_;
};

}  // namespace seekrl::model
