// What is not a product: choices, order, rows there and back.
#include "kernels/cuda/experts/experts.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/reduce.h"

namespace seekrl::cuda {

namespace {

constexpr int kThreads = 256, kWarps = kThreads / 32;
constexpr Status kMisaligned = "experts: expected rows at multiples of 16 bytes";
constexpr int kOwned = kMaxExperts / 32;  // experts of a lane: lane, lane + 32, ...

struct Best {
  float value;
  int expert;
};
// Of a warp's lanes: the largest, of equal ones the first.
__device__ __forceinline__ Best best_of(Best own) {
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2) {
    const Best other = {__shfl_xor_sync(~0u, own.value, distance), __shfl_xor_sync(~0u, own.expert, distance)};
    if (other.value > own.value || (other.value == own.value && other.expert < own.expert)) own = other;
  }
  return own;
}

// Of odds that are not a number: more than any is.
constexpr float kUnknown = 2.0f;

// The lane's part of a row's odds; what is no expert has -1.
template <class Number>
__device__ __forceinline__ void load_odds(float (&odds)[kOwned], const ExpertChoice& call, int64_t token) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const auto* const row = static_cast<const Number*>(call.logits_TE) + token * call.num_experts;
  float top = -INFINITY, sum = 0;
#pragma unroll
  for (int i = 0; i < kOwned; ++i) {
    const int expert = i * 32 + lane;
    odds[i] = expert < call.num_experts ? to_float(row[expert]) : -INFINITY;
    top = fmaxf(top, odds[i]);
  }
  top = reduce_warp<Max>(top);
#pragma unroll
  for (int i = 0; i < kOwned; ++i) {
    odds[i] = i * 32 + lane < call.num_experts ? expf(odds[i] - top) : -1.0f;
    sum += fmaxf(odds[i], 0.0f);
  }
  sum = reduce_warp<Sum>(sum);
#pragma unroll
  for (int i = 0; i < kOwned; ++i) {
    const bool is_there = i * 32 + lane < call.num_experts;
    const float share = odds[i] / sum;
    odds[i] = !is_there ? -1.0f : share == share ? share : kUnknown;
  }
}

template <class Number>
__global__ void __launch_bounds__(kThreads) choose(ExpertChoice call) {
  const int64_t token = int64_t{blockIdx.x} * kWarps + threadIdx.x / 32;
  if (token >= call.num_tokens) return;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  float odds[kOwned], sum = 0;
  load_odds<Number>(odds, call, token);
  float* const weights = call.weights_TA + token * call.num_chosen;
  for (int64_t a = 0; a < call.num_chosen; ++a) {
    Best best = {-2.0f, static_cast<int>(kMaxExperts)};
#pragma unroll
    for (int i = 0; i < kOwned; ++i) {
      if (odds[i] > best.value) best = {odds[i], i * 32 + lane};
    }
    best = best_of(best);
#pragma unroll
    for (int i = 0; i < kOwned; ++i) {
      if (i * 32 + lane == best.expert) odds[i] = -1.0f;
    }
    if (best.value == kUnknown) best.value = NAN;
    sum += best.value;
    if (lane != 0) continue;
    weights[a] = best.value;
    call.chosen_TA[token * call.num_chosen + a] = best.expert;
  }
  if (!call.is_normalised || lane != 0) return;
  for (int64_t a = 0; a < call.num_chosen; ++a) weights[a] /= sum;
}

__global__ void __launch_bounds__(kThreads) sort_expert(ExpertCalls call) {
  SEEKRL_SHARED(int, counts, kWarps);
  const auto expert = static_cast<int32_t>(blockIdx.x);
  int start = 0;
  for (int64_t first = 0; first < call.num_calls; first += kThreads) {
    const int64_t i = first + threadIdx.x;
    start += rank_in_block<kThreads, 1>({i < call.num_calls && call.chosen_R[i] < expert}, counts).all;
  }
  int at = start;
  for (int64_t first = 0; first < call.num_calls; first += kThreads) {
    const int64_t i = first + threadIdx.x;
    const bool is_own = i < call.num_calls && call.chosen_R[i] == expert;
    const Ranks<1> ranks = rank_in_block<kThreads, 1>({is_own}, counts);
    if (is_own) {
      call.order_R[at + ranks.before[0]] = static_cast<int32_t>(i);
      call.places_R[i] = at + ranks.before[0];
    }
    at += ranks.all;
  }
  if (threadIdx.x != 0) return;
  call.start_E[expert] = start;
  if (expert + 1 == call.num_experts) call.start_E[call.num_experts] = at;
}

__global__ void __launch_bounds__(kThreads) gather(ExpertRows call) {
  const int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x, pieces = call.width / 8;
  if (i >= call.num_calls * pieces) return;
  const int64_t token = call.order_R[i / pieces] / call.num_chosen;
  static_cast<uint4*>(call.rows_RD)[i] = static_cast<const uint4*>(call.x_TD)[token * pieces + i % pieces];
}

template <class Number>
__global__ void __launch_bounds__(kThreads) add_rows(ExpertSum call) {
  const int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x, pieces = call.width / 8;
  if (i >= call.num_tokens * pieces) return;
  const int64_t token = i / pieces, column = i % pieces * 8;
  float sum[8] = {}, part[8];
  for (int64_t a = 0; a < call.num_chosen; ++a) {
    const int64_t at = token * call.num_chosen + a;
    load_8(part, static_cast<const Number*>(call.rows_RD) + call.places_R[at] * call.width + column);
    const float weight = call.weights_TA[at];
#pragma unroll
    for (int c = 0; c < 8; ++c) {
      const float term = to_float(from_float<Number>(part[c] * weight));
      sum[c] = a == 0 ? term : to_float(from_float<Number>(sum[c] + term));
    }
  }
  store_8(static_cast<Number*>(call.out_TD) + token * call.width + column, sum);
}

}  // namespace

Status choose_experts(const ExpertChoice& call, void* stream) {
  if (call.num_tokens == 0) return nullptr;
  if (call.num_experts > kMaxExperts) return "experts: expected at most 512";
  if (call.num_chosen > call.num_experts) return "experts: expected no more to be chosen than there are";
  const dim3 grid(blocks_of(call.num_tokens, kWarps));
  if (call.dtype == Dtype::kFloat) return launch(&choose<float>, grid, dim3(kThreads), 0, stream, call);
  return with_number(call.dtype, "experts: expected logits of 16 bits or f32",
                     [&]<class Number>() { return launch(&choose<Number>, grid, dim3(kThreads), 0, stream, call); });
}

Status sort_calls(const ExpertCalls& call, void* stream) {
  return launch(&sort_expert, dim3(static_cast<unsigned>(call.num_experts)), dim3(kThreads), 0, stream, call);
}

Status gather_calls(const ExpertRows& call, void* stream) {
  if (call.num_calls == 0) return nullptr;
  if (call.width % 8 != 0) return "experts: expected rows that are a multiple of 8";
  if (!are_aligned({call.rows_RD, call.x_TD})) return kMisaligned;
  return launch(&gather, dim3(blocks_of(call.num_calls * (call.width / 8), kThreads)), dim3(kThreads), 0, stream, call);
}

Status add_experts(const ExpertSum& call, void* stream) {
  if (call.num_tokens == 0) return nullptr;
  if (call.width % 8 != 0) return "experts: expected rows that are a multiple of 8";
  if (!are_aligned({call.out_TD, call.rows_RD})) return kMisaligned;
  return with_number(call.dtype, "experts: expected rows of 16 bits", [&]<class Number>() {
    const dim3 grid(blocks_of(call.num_tokens * (call.width / 8), kThreads));
    return launch(&add_rows<Number>, grid, dim3(kThreads), 0, stream, call);
  });
}

}  // namespace seekrl::cuda
