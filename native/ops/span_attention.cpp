// Span attention through ATen's flash attention, one span at a time.
#include "ops/span_attention.h"

#include <ATen/ATen.h>

#include "base/error.h"

namespace seekrl::ops {

namespace {

// [T, H, C] rows of one span -> [1, H, S, C], the layout ATen attends over.
at::Tensor heads_first(const at::Tensor& x_THC, int64_t start, int64_t length) {
  return x_THC.narrow(0, start, length).transpose(0, 1).unsqueeze(0);
}

void check(const at::Tensor& query_THC, const at::Tensor& key_TKC, const at::Tensor& value_TKC,
           const std::vector<int64_t>& span_starts) {
  require(query_THC.dim() == 3 && key_TKC.dim() == 3 && key_TKC.sizes() == value_TKC.sizes() &&
              query_THC.size(0) == key_TKC.size(0) && query_THC.size(2) == key_TKC.size(2) &&
              query_THC.size(1) % key_TKC.size(1) == 0,
          ErrorCode::kShape, "span_attention: expected query [T, H, C], key and value [T, K, C], got ",
          query_THC.sizes(), ", ", key_TKC.sizes(), ", ", value_TKC.sizes());
  require(!span_starts.empty() && span_starts.front() == 0 && span_starts.back() == query_THC.size(0),
          ErrorCode::kShape, "span_attention: expected span starts from 0 to ", query_THC.size(0));
}

}  // namespace

at::Tensor span_attention(const at::Tensor& query_THC, const at::Tensor& key_TKC, const at::Tensor& value_TKC,
                          const std::vector<int64_t>& span_starts) {
  check(query_THC, key_TKC, value_TKC, span_starts);
  std::vector<at::Tensor> spans;
  for (size_t s = 0; s + 1 < span_starts.size(); ++s) {
    const int64_t start = span_starts[s], length = span_starts[s + 1] - start;
    const at::Tensor out = at::scaled_dot_product_attention(
        heads_first(query_THC, start, length), heads_first(key_TKC, start, length),
        heads_first(value_TKC, start, length), {}, 0.0, /*is_causal=*/true, std::nullopt, /*enable_gqa=*/true);
    spans.push_back(out.squeeze(0).transpose(0, 1));
  }
  return at::cat(spans, 0);
}

}  // namespace seekrl::ops
