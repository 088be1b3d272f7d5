// A thread a row: a batch has few rows, and each has a handful of numbers.
#include "kernels/cuda/launch.h"
#include "kernels/cuda/sampling/next_step.h"

namespace seekrl::cuda {

namespace {

constexpr int kRowThreads = 128;

__global__ void __launch_bounds__(kRowThreads) advance_rows(NextStep call) {
  const int64_t s = int64_t{blockIdx.x} * kRowThreads + threadIdx.x;
  if (s >= call.num_rows || call.slots_S[s] < 0) return;
  const DrawnToken drawn = call.drawn_S[s];
  const bool is_drawn = drawn.token >= 0 && drawn.logprob == drawn.logprob;
  if (!is_drawn || call.num_tokens_S[s] + 1 >= call.limits_S[s]) {
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

__global__ void __launch_bounds__(kRowThreads) edit(int32_t* words, const WordEdit* edits, int64_t num_edits) {
  const int64_t i = int64_t{blockIdx.x} * kRowThreads + threadIdx.x;
  if (i < num_edits) words[edits[i].place] = edits[i].value;
}

}  // namespace

Status next_step(const NextStep& call, void* stream) {
  if (call.num_rows == 0) return nullptr;
  return launch(&advance_rows, dim3(blocks_of(call.num_rows, kRowThreads)), dim3(kRowThreads), 0, stream, call);
}

Status edit_words(int32_t* words, const WordEdit* edits, int64_t num_edits, void* stream) {
  if (num_edits == 0) return nullptr;
  return launch(&edit, dim3(blocks_of(num_edits, kRowThreads)), dim3(kRowThreads), 0, stream, words, edits, num_edits);
}

}  // namespace seekrl::cuda
