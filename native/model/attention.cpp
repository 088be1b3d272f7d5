// Attention without a cache.
#include "model/attention.h"

#include "ops/attention/span_attention.h"
#include "ops/gpu/attention.h"
#include "ops/gpu/gpu.h"
#include "ops/rms_norm.h"
#include "ops/rope.h"

namespace seekrl::model {

void Heads::turn() {
  if (ops::uses_gpu_kernels(query_THC)) {
    const bool turns = angles != nullptr;
    const ops::RotatedHeads turned =
        ops::gpu_rotate(query_THC, key_TKC,
                        {q_norm_C, k_norm_C, norm_eps, norm_offset, turns ? angles->cos_TF : at::Tensor(),
                         turns ? angles->sin_TF : at::Tensor()});
    query_THC = turned.query_THC;
    key_TKC = turned.key_TKC;
    return;
  }
  if (q_norm_C.defined()) {
    query_THC = ops::rms_norm(query_THC, q_norm_C, norm_eps, norm_offset);
    key_TKC = ops::rms_norm(key_TKC, k_norm_C, norm_eps, norm_offset);
  }
  if (angles == nullptr) return;
  query_THC = ops::rope(query_THC, angles->cos_TF, angles->sin_TF);
  key_TKC = ops::rope(key_TKC, angles->cos_TF, angles->sin_TF);
}

at::Tensor SpanAttention::attend(int64_t /*layer*/, Heads& heads, const kernels::ScoreRule& rule) {
  heads.turn();
  const at::Tensor& query = heads.query_THC;
  if (ops::uses_gpu_kernels(query)) {
    if (!tables_.tiles.defined()) {
      tables_ = ops::span_tables(spans_, query.size(1), heads.key_TKC.size(1), query.device());
    }
    return ops::gpu_span_attention(query, heads.key_TKC, heads.value_TKC, tables_, rule);
  }
  return ops::span_attention(heads.query_THC, heads.key_TKC, heads.value_TKC, spans_, rule, dtype_);
}

}  // namespace seekrl::model
