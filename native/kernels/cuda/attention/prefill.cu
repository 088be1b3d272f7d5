// Chooses the kernel by number, head width and what the cache holds.
#include "kernels/cuda/attention/prefill.cuh"
#include "kernels/cuda/launch.h"

namespace seekrl::cuda {

namespace {

template <class Number, int C, template <int> class Tile>
Status attend(const PagedAttention& call, void* stream) {
  const dim3 grid(static_cast<unsigned>(call.num_tiles), static_cast<unsigned>(call.num_kv_heads));
  return launch(&attend_prompts<Number, C, Tile>, grid, dim3(kPrefillThreads), sizeof(PrefillMemory<C, Tile>), stream,
                call);
}

template <class Number, int C>
Status attend(const PagedAttention& call, void* stream) {
  if (call.key_scales != nullptr) return attend<Number, C, CodeTile>(call, stream);
  return attend<Number, C, NumberTile>(call, stream);
}

}  // namespace

Status prefill_attention(const PagedAttention& call, void* stream) {
  if (call.num_tiles == 0) return nullptr;
  if (call.num_heads > kTileRows * call.num_kv_heads)
    return "prefill attention: expected at most 16 query heads to a key head";
  if (!are_aligned({call.query, call.keys, call.values, call.key_scales, call.value_scales}))
    return "prefill attention: expected query, keys, values and scales at multiples of 16 bytes";
  return with_heads(call.dtype, call.head_dim, [&]<class Number, int C>() { return attend<Number, C>(call, stream); });
}

}  // namespace seekrl::cuda
