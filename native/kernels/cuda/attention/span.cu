// Chooses the kernels by number and head width.
#include "kernels/cuda/attention/span_gradient.cuh"
#include "kernels/cuda/launch.h"

namespace seekrl::cuda {

namespace {

// Whether rows of heads are read 16 bytes at a time.
Status misfit(const SpanAttention& call) {
  for (const SpanHeads& heads : {call.query_THC, call.key_TKC, call.value_TKC}) {
    if (!are_aligned({heads.data}) || heads.stride % 8 != 0)
      return "span attention: expected heads at multiples of 16 bytes";
  }
  return nullptr;
}

}  // namespace

Status span_attention(const SpanAttention& call, void* stream) {
  if (call.num_tiles == 0) return nullptr;
  if (!call.is_causal && call.window != 0) return "span attention: a window goes with causal attention only";
  if (const Status what = misfit(call); what != nullptr) return what;
  const dim3 grid(static_cast<unsigned>(call.num_tiles), static_cast<unsigned>(call.num_heads));
  return with_heads(call.dtype, call.head_dim, [&]<class Number, int C>() {
    return launch(&attend_spans<Number, C>, grid, dim3(kSpanThreads), kSpanSharedBytes<C>, stream, call);
  });
}

Status span_attention_gradient(const SpanAttentionGradient& call, void* stream) {
  if (call.of.num_tiles == 0) return nullptr;
  if (!call.of.is_causal) return "span attention: gradients are those of causal attention";
  if (const Status what = misfit(call.of); what != nullptr) return what;
  if (!are_aligned({call.of.out_THC, call.out_grad_THC}))
    return "span attention: out and its gradient: expected multiples of 16 bytes";
  const auto num_tiles = static_cast<unsigned>(call.of.num_tiles);
  return with_heads(call.of.dtype, call.of.head_dim, [&]<class Number, int C>() {
    const int64_t num_items = call.of.num_tokens * call.of.num_heads;
    const dim3 rows(blocks_of(num_items, kSpanWarps));
    Status status = launch(&multiply_out<Number>, rows, dim3(kSpanThreads), 0, stream, call);
    if (status != nullptr) return status;
    status = launch(&span_query_gradient<Number, C>, dim3(num_tiles, static_cast<unsigned>(call.of.num_heads)),
                    dim3(kSpanThreads), kQueryGradientSharedBytes<C>, stream, call);
    if (status != nullptr) return status;
    const dim3 grid(num_tiles, static_cast<unsigned>(call.of.num_kv_heads), C / kGradientColumns<C>);
    return launch(&span_key_gradient<Number, C>, grid, dim3(kSpanThreads), kKeyGradientSharedBytes<C>, stream, call);
  });
}

}  // namespace seekrl::cuda
