// Attention without a cache.
#include "model/attention.h"

#include "ops/attention/span_attention.h"

namespace seekrl::model {

at::Tensor SpanAttention::attend(int64_t /*layer*/, const at::Tensor& query_THC, const at::Tensor& key_TKC,
                                 const at::Tensor& value_TKC, const kernels::ScoreRule& rule) {
  return ops::span_attention(query_THC, key_TKC, value_TKC, spans_, rule, dtype_);
}

}  // namespace seekrl::model
