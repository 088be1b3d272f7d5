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

template <class Number>
Status attend(const PagedAttention& call, void* stream) {
  switch (call.head_dim) {
    case 32: return attend<Number, 32>(call, stream);
    case 64: return attend<Number, 64>(call, stream);
    case 80: return attend<Number, 80>(call, stream);
    case 96: return attend<Number, 96>(call, stream);
    case 128: return attend<Number, 128>(call, stream);
    case 256: return attend<Number, 256>(call, stream);
    default: return "prefill attention: expected heads of width 32, 64, 80, 96, 128 or 256";
  }
}

}  // namespace

Status prefill_attention(const PagedAttention& call, void* stream) {
  if (call.num_tiles == 0) return nullptr;
  if (call.num_heads > kTileRows * call.num_kv_heads)
    return "prefill attention: expected at most 16 query heads to a key head";
  return with_number(call.dtype, "prefill attention: expected numbers of 16 bits",
                     [&]<class Number>() { return attend<Number>(call, stream); });
}

}  // namespace seekrl::cuda
