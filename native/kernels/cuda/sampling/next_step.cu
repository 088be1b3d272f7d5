// A thread a row: a batch has few rows, and each has a handful of numbers.
#include "kernels/cuda/launch.h"
#include "kernels/cuda/sampling/next_step.h"

namespace seekrl::cuda {

namespace {

constexpr int kRowThreads = 128;

__device__ __forceinline__ RowEnd end_of(const NextStep& call, int64_t s, const DrawnToken& drawn) {
  if (drawn.token < 0 || drawn.logprob != drawn.logprob) return RowEnd::kError;
  for (int32_t i = call.first_stop_S[s]; i < call.first_stop_S[s + 1]; ++i) {
    if (call.stop_ids[i] == drawn.token) return RowEnd::kStop;
  }
  return call.num_tokens_S[s] + 1 >= call.limits_S[s] ? RowEnd::kFull : RowEnd::kNone;
}

__global__ void __launch_bounds__(kRowThreads) advance_rows(NextStep call) {
  const int64_t s = int64_t{blockIdx.x} * kRowThreads + threadIdx.x;
  if (s >= call.num_rows || call.ends_S[s] != RowEnd::kNone) return;
  const DrawnToken drawn = call.drawn_S[s];
  const RowEnd end = end_of(call, s, drawn);
  if (end != RowEnd::kNone) {
    call.ends_S[s] = end;
    call.slots_S[s] = -1;
    call.tiles_S[s].num_keys = 1;
    return;
  }
  const int32_t position = call.positions_S[s] + 1;
  const auto block_tokens = static_cast<int32_t>(call.block_tokens);
  const int64_t entry = call.tiles_S[s].sequence * call.table_stride + position / block_tokens;
  call.ids_S[s] = drawn.token;
  call.positions_S[s] = position;
  ++call.num_tokens_S[s];
  call.slots_S[s] = call.block_table[entry] * block_tokens + position % block_tokens;
  ++call.tiles_S[s].num_keys;
}

}  // namespace

Status next_step(const NextStep& call, void* stream) {
  if (call.num_rows == 0) return nullptr;
  return launch(&advance_rows, dim3(blocks_of(call.num_rows, kRowThreads)), dim3(kRowThreads), 0, stream, call);
}

}  // namespace seekrl::cuda
