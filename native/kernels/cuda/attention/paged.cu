// Chooses the kernel by number, head width and what the cache holds.
#include "kernels/cuda/attention/paged.cuh"
#include "kernels/cuda/launch.h"

namespace seekrl::cuda {

namespace {

int64_t num_splits(int64_t max_keys) { return ceil_divide(max_keys, kSplitTokens); }

template <class Number, int C, class Ring>
Status attend(const PagedAttention& call, void* stream) {
  const auto splits = static_cast<unsigned>(num_splits(call.max_keys));
  const dim3 grid(static_cast<unsigned>(call.num_tiles + call.num_shared_tiles),
                  static_cast<unsigned>(call.num_kv_heads), splits);
  const Status status =
      launch(&attend_split<Number, C, Ring>, grid, dim3(kSplitThreads), split_shared_bytes<Ring, C>(), stream, call);
  if (status != nullptr) return status;
  const dim3 warps(blocks_of((end_row(call) - call.first_row) * call.num_heads, 4));
  return launch(&join_splits<Number, C>, warps, dim3(128), 0, stream, call, static_cast<int>(splits));
}

template <class Number, int C>
Status attend(const PagedAttention& call, void* stream) {
  if (call.key_scales != nullptr) return attend<Number, C, CodedRing<Number, C>>(call, stream);
  return attend<Number, C, PlainRing<Number, C>>(call, stream);
}

}  // namespace

Status paged_attention(const PagedAttention& call, void* stream) {
  if (call.num_tiles == 0) return nullptr;
  if (call.num_heads > kTileRows * call.num_kv_heads)
    return "paged attention: expected at most 16 query heads to a key head";
  if (call.num_shared_tiles > 0 && call.window > 0) return "paged attention: expected no window over shared keys";
  if (!are_aligned({call.query, call.keys, call.values, call.key_scales, call.value_scales}))
    return "paged attention: expected query, keys, values and scales at multiples of 16 bytes";
  return with_heads(call.dtype, call.head_dim, [&]<class Number, int C>() { return attend<Number, C>(call, stream); });
}

int64_t paged_attention_scratch_floats(int64_t num_rows, int64_t num_heads, int64_t head_dim, int64_t max_keys) {
  return num_rows * num_heads * num_splits(max_keys) * (head_dim + 2);
}

}  // namespace seekrl::cuda
