// A block a token, for gradients a block a bucket of ids; of angles, a thread each.
#include "kernels/cuda/launch.h"
#include "kernels/cuda/layer/tokens.h"
#include "kernels/cuda/number.h"
#include "kernels/cuda/reduce.h"

namespace seekrl::cuda {

namespace {

constexpr Status kMisaligned = "embed: expected rows at multiples of 16 bytes";
constexpr int kTokenThreads = 128;

template <class Number>
__global__ void __launch_bounds__(kTokenThreads) embed_tokens(Embed call) {
  const int64_t token = blockIdx.x, id = call.ids_T[token];
  for (int64_t c = int64_t{threadIdx.x} * 8; c < call.width; c += kTokenThreads * 8) {
    float x[8];
    load_8(x, static_cast<const Number*>(call.weight_VD) + id * call.width + c);
#pragma unroll
    for (int j = 0; j < 8; ++j) x[j] *= call.scale;
    store_8(call.out_TD + token * call.width + c, x);
  }
}

constexpr int kAddThreads = 256;
// Ids are dealt to so many buckets at most, a block each for so many columns, four a thread.
constexpr int64_t kBuckets = 512, kAddColumns = kAddThreads * 4;
constexpr int kLooks = 4;      // ids a thread looks at together
constexpr int kListed = 2048;  // places of a bucket that are added together
constexpr int kAhead = 8;      // rows of a token on their way at once

// Places of a bucket's ids, in order; ids that are added are -1.
struct Bucket {
  int32_t places[kListed], ids[kListed], own_places[kListed];  // own_places: of one id
  int counts[kAddThreads / 32];
};

// The thread's columns of a token's gradient, from its first place to its last.
__device__ __forceinline__ void add_places(const EmbedGradient& call, int64_t id, const int32_t* places, int count) {
  const int64_t c = blockIdx.y * kAddColumns + threadIdx.x * int64_t{4};
  if (c >= call.width) return;
  auto* const to = reinterpret_cast<float4*>(call.weight_grad_VD + id * call.width + c);
  const auto row_of = [&](int i) {
    return *reinterpret_cast<const float4*>(call.out_grad_TD + places[i] * call.width + c);
  };
  float4 sum = *to;
  const auto add = [&](const float4& row) {
    sum.x += call.scale * row.x;
    sum.y += call.scale * row.y;
    sum.z += call.scale * row.z;
    sum.w += call.scale * row.w;
  };
  int i = 0;
  for (; i + kAhead <= count; i += kAhead) {
    float4 rows[kAhead];
#pragma unroll
    for (int j = 0; j < kAhead; ++j) rows[j] = row_of(i + j);
#pragma unroll
    for (int j = 0; j < kAhead; ++j) add(rows[j]);
  }
#pragma unroll 4
  for (; i < count; ++i) add(row_of(i));
  *to = sum;
}

// Adds what is listed, id by id; the whole block.
__device__ __forceinline__ void add_listed(const EmbedGradient& call, Bucket& bucket, int num_listed) {
  __syncthreads();
  for (int next = 0; next < num_listed; ++next) {
    const int32_t id = bucket.ids[next];
    if (id < 0) continue;
    int count = 0;
    for (int first = next; first < num_listed; first += kAddThreads) {
      const int i = first + static_cast<int>(threadIdx.x);
      const bool is_its = i < num_listed && bucket.ids[i] == id;
      const Ranks<1> ranks = rank_in_block<kAddThreads, 1>({is_its}, bucket.counts);
      if (is_its) {
        bucket.own_places[count + ranks.before[0]] = bucket.places[i];
        bucket.ids[i] = -1;
      }
      count += ranks.all;
    }
    __syncthreads();
    add_places(call, id, bucket.own_places, count);
  }
  __syncthreads();
}

__global__ void __launch_bounds__(kAddThreads, 4) add_token_gradients(EmbedGradient call) {
  SEEKRL_DYNAMIC_SHARED(Bucket, shared);
  Bucket& bucket = *shared;
  constexpr int kRound = kAddThreads * kLooks;
  const int warp_first = static_cast<int>(threadIdx.x) / 32 * 32 * kLooks, lane = static_cast<int>(threadIdx.x) % 32;
  int num_listed = 0;
  for (int64_t first = 0; first < call.num_tokens; first += kRound) {
    int32_t ids[kLooks];
    bool are_own[kLooks];
#pragma unroll
    for (int i = 0; i < kLooks; ++i) {
      const int64_t place = first + warp_first + i * 32 + lane;
      ids[i] = place < call.num_tokens ? call.ids_T[place] : -1;
      are_own[i] = ids[i] >= 0 && static_cast<uint32_t>(ids[i]) % gridDim.x == blockIdx.x;
    }
    const Ranks<kLooks> ranks = rank_in_block<kAddThreads, kLooks>(are_own, bucket.counts);
#pragma unroll
    for (int i = 0; i < kLooks; ++i) {
      if (!are_own[i]) continue;
      bucket.places[num_listed + ranks.before[i]] = static_cast<int32_t>(first) + warp_first + i * 32 + lane;
      bucket.ids[num_listed + ranks.before[i]] = ids[i];
    }
    num_listed += ranks.all;
    if (num_listed + kRound <= kListed && first + kRound < call.num_tokens) continue;
    add_listed(call, bucket, num_listed);
    num_listed = 0;
  }
}

// Taylor's, up to pi / 4: what is left out is less than half a unit of f64's last place.
__device__ __forceinline__ double sin_near_0(double x) {
  constexpr double kOver[] = {-1.0 / 6,        1.0 / 120,        -1.0 / 5040,         1.0 / 362880,
                              -1.0 / 39916800, 1.0 / 6227020800, -1.0 / 1307674368000};
  const double square = x * x;
  double sum = kOver[6];
#pragma unroll
  for (int i = 5; i >= 0; --i) sum = fma(sum, square, kOver[i]);
  return fma(sum * square, x, x);
}

__device__ __forceinline__ double cos_near_0(double x) {
  constexpr double kOver[] = {-1.0 / 2,       1.0 / 24,        -1.0 / 720,         1.0 / 40320,
                              -1.0 / 3628800, 1.0 / 479001600, -1.0 / 87178291200, 1.0 / 20922789888000};
  const double square = x * x;
  double sum = kOver[7];
#pragma unroll
  for (int i = 6; i >= 0; --i) sum = fma(sum, square, kOver[i]);
  return fma(sum, square, 1.0);
}

// Quarter turns are taken off with pi / 2 in two parts of 53 bits.
__global__ void __launch_bounds__(kTokenThreads) make_angles(RotaryAngles call) {
  const int64_t i = int64_t{blockIdx.x} * kTokenThreads + threadIdx.x;
  if (i >= call.num_tokens * call.num_frequencies) return;
  const auto position = static_cast<float>(call.positions_T[i / call.num_frequencies]);
  const double angle = position * call.frequencies_F[i % call.num_frequencies];
  const double turns = rint(angle * 0.63661977236758138);
  const double rest = fma(-turns, 6.123233995736766e-17, fma(-turns, 1.5707963267948966, angle));
  const double sin = sin_near_0(rest), cos = cos_near_0(rest);
  const int quarter = static_cast<int>(static_cast<int64_t>(turns) & 3);
  const double turned_cos = quarter % 2 == 0 ? cos : sin, turned_sin = quarter % 2 == 0 ? sin : cos;
  const double cos_sign = quarter == 1 || quarter == 2 ? -1 : 1, sin_sign = quarter >= 2 ? -1 : 1;
  call.cos_TF[i] = static_cast<float>(cos_sign * turned_cos * call.scale);
  call.sin_TF[i] = static_cast<float>(sin_sign * turned_sin * call.scale);
}

}  // namespace

Status embed(const Embed& call, void* stream) {
  if (call.num_tokens == 0) return nullptr;
  if (call.width % 8 != 0) return "embed: expected a width that is a multiple of 8";
  if (!are_aligned({call.out_TD, call.weight_VD})) return kMisaligned;
  return with_number(call.dtype, "embed: expected a weight of 16 bits", [&]<class Number>() {
    return launch(&embed_tokens<Number>, dim3(blocks_of(call.num_tokens, 1)), dim3(kTokenThreads), 0, stream, call);
  });
}

Status embed_gradient(const EmbedGradient& call, void* stream) {
  if (call.num_tokens == 0) return nullptr;
  if (call.width % 8 != 0) return "embed: expected a width that is a multiple of 8";
  if (!are_aligned({call.weight_grad_VD, call.out_grad_TD})) return kMisaligned;
  // As many as there are, a few tokens to each.
  const dim3 grid(static_cast<unsigned>(std::min(kBuckets, ceil_divide(call.num_tokens, 4))),
                  blocks_of(call.width, kAddColumns));
  return launch(&add_token_gradients, grid, dim3(kAddThreads), sizeof(Bucket), stream, call);
}

Status rotary_angles(const RotaryAngles& call, void* stream) {
  const int64_t count = call.num_tokens * call.num_frequencies;
  if (count == 0) return nullptr;
  return launch(&make_angles, dim3(blocks_of(count, kTokenThreads)), dim3(kTokenThreads), 0, stream, call);
}

}  // namespace seekrl::cuda
