// A block: one head's tokens of a group, which its warps take in turn; their sums are joined in the order of warps.
#include "kernels/cuda/launch.h"
#include "kernels/cuda/layer/head.cuh"
#include "kernels/cuda/layer/rotate.h"

namespace seekrl::cuda {

namespace {

constexpr int kSumThreads = 256, kSumWarps = 8;

// A head of one of the projections, by its number among all of a token.
struct Part {
  ProjectedHeads projected;
  HeadGradients grads;
  int64_t head;
  bool is_rotated;
};

__device__ __forceinline__ Part part_of(const RotateGradient& call, int64_t item) {
  const Rotate& of = call.of;
  const bool is_rotated = of.rotary.num_frequencies > 0;
  if (item < of.num_heads) return {of.query, call.query, item, is_rotated};
  item -= of.num_heads;
  if (item < of.num_kv_heads) return {of.key, call.key, item, is_rotated};
  return {of.value, call.value, item - of.num_kv_heads, false};
}

// The sums of a group over the tokens of all heads, biases' and then norms': [groups, heads, C].
__device__ __forceinline__ float* group_sums(const RotateGradient& call, bool of_norm, int64_t group, int64_t item) {
  const int64_t num_items = call.of.num_heads + 2 * call.of.num_kv_heads;
  return call.scratch + (((of_norm ? kRotateGroups : 0) + group) * num_items + item) * call.of.head_dim;
}

struct Sums {
  float2 bias[kPairs] = {}, norm[kPairs] = {};
};

template <class Number>
__device__ __forceinline__ void leave_norm(float2 (&grad)[kPairs], const Rotate& of, const Part& part, int64_t token,
                                           Sums& sums) {
  const auto width = static_cast<int>(of.head_dim);
  float2 x[kPairs];
  load_head<Number>(x, part.projected, token, part.head, width);
  const float scale = norm_scale(x, width, of.norm_epsilon);
  float dot = 0;
  each_pair(width, [&](int i, int c) {
    sums.norm[i].x += grad[i].x * x[i].x * scale;
    sums.norm[i].y += grad[i].y * x[i].y * scale;
    const float2 weight = pair_at<Number>(part.projected.norm, c);
    grad[i].x *= weight.x + of.norm_offset;
    grad[i].y *= weight.y + of.norm_offset;
    dot += grad[i].x * x[i].x + grad[i].y * x[i].y;
  });
  const float factor = reduce_warp<Sum>(dot) / static_cast<float>(width) * scale * scale;
  each_pair(width, [&](int i, int) {
    grad[i].x = scale * (grad[i].x - x[i].x * factor);
    grad[i].y = scale * (grad[i].y - x[i].y * factor);
  });
}

template <class Number>
__device__ __forceinline__ void add_token(const Rotate& of, const Part& part, int64_t token, float* shared,
                                          Sums& sums) {
  const auto width = static_cast<int>(of.head_dim);
  const int64_t from = token * part.grads.stride + part.head * width;
  float2 grad[kPairs];
  each_pair(width, [&](int i, int c) { grad[i] = pair_at<Number>(part.grads.rotated, from + c); });
  if (part.is_rotated) turn(grad, of.rotary, token, -1, width, shared);
  if (part.projected.norm != nullptr) leave_norm<Number>(grad, of, part, token, sums);
  each_pair(width, [&](int i, int) {
    sums.bias[i].x += grad[i].x;
    sums.bias[i].y += grad[i].y;
  });
  store_head<Number>(part.grads.projected, token * part.projected.stride + part.head * width, grad, width);
}

template <class Number>
__global__ void __launch_bounds__(kHeadWarps * 32) rotate_gradient_heads(RotateGradient call) {
  constexpr int kPart = 2 * kMaxHeadDim;
  SEEKRL_SHARED(float, parts, kHeadWarps* kPart);
  const Part part = part_of(call, blockIdx.y);
  if (part.grads.rotated == nullptr) return;
  const auto width = static_cast<int>(call.of.head_dim), warp = static_cast<int>(threadIdx.x) / 32;
  const int64_t per_group = (call.of.num_tokens + kRotateGroups - 1) / kRotateGroups, first = blockIdx.x * per_group;
  float* const own = parts + warp * kPart;
  Sums sums;
  for (int64_t token = first + warp; token < min(first + per_group, call.of.num_tokens); token += kHeadWarps) {
    add_token<Number>(call.of, part, token, own, sums);
  }
  if (part.grads.bias == nullptr && part.grads.norm == nullptr) return;
  each_pair(width, [&](int i, int c) {
    *reinterpret_cast<float2*>(own + c) = sums.bias[i];
    *reinterpret_cast<float2*>(own + kMaxHeadDim + c) = sums.norm[i];
  });
  __syncthreads();
  for (int c = static_cast<int>(threadIdx.x); c < 2 * width; c += kHeadWarps * 32) {
    const bool of_norm = c >= width;
    const float* const at = parts + (of_norm ? kMaxHeadDim + c - width : c);
    float sum = at[0];
    for (int w = 1; w < kHeadWarps; ++w) sum += at[w * kPart];
    group_sums(call, of_norm, blockIdx.x, blockIdx.y)[of_norm ? c - width : c] = sum;
  }
}

__device__ __forceinline__ float sum_of_groups(const RotateGradient& call, bool of_norm, int64_t item, int64_t c) {
  float sum = 0;
#pragma unroll 8
  for (int64_t group = 0; group < kRotateGroups; ++group) sum += group_sums(call, of_norm, group, item)[c];
  return sum;
}

// A thread: one channel of one head.
__global__ void __launch_bounds__(kSumThreads) add_bias_groups(RotateGradient call) {
  const int64_t width = call.of.head_dim, i = int64_t{blockIdx.x} * kSumThreads + threadIdx.x, item = i / width;
  if (item >= call.of.num_heads + 2 * call.of.num_kv_heads) return;
  const Part part = part_of(call, item);
  if (part.grads.bias != nullptr)
    part.grads.bias[part.head * width + i % width] += sum_of_groups(call, false, item, i % width);
}

// blockIdx.y: queries, keys; a warp takes every eighth head, a lane has one channel.
__global__ void __launch_bounds__(kSumWarps * 32) add_norm_groups(RotateGradient call) {
  SEEKRL_SHARED(float, parts, kSumWarps * 32);
  const bool is_query = blockIdx.y == 0;
  float* const to = is_query ? call.query.norm : call.key.norm;
  if (to == nullptr) return;
  const int64_t first = is_query ? 0 : call.of.num_heads, lane = threadIdx.x % 32, c = blockIdx.x * int64_t{32} + lane;
  const int64_t end = first + (is_query ? call.of.num_heads : call.of.num_kv_heads);
  float sum = 0;
  for (int64_t item = first + threadIdx.x / 32; item < end && c < call.of.head_dim; item += kSumWarps) {
    sum += sum_of_groups(call, true, item, c);
  }
  parts[threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.x >= 32 || c >= call.of.head_dim) return;
  sum = to[c];
  for (int warp = 0; warp < kSumWarps; ++warp) sum += parts[warp * 32 + lane];
  to[c] = sum;
}

const char* misfit(const RotateGradient& call) {
  const Rotate& of = call.of;
  if (of.head_dim % 2 != 0 || of.head_dim > kMaxHeadDim) return "rotate: expected an even head width up to 256";
  const bool has_norms = (call.query.norm == nullptr || of.query.norm != nullptr) &&
                         (call.key.norm == nullptr || of.key.norm != nullptr) && call.value.norm == nullptr;
  return has_norms ? nullptr : "rotate: a gradient is wanted of a norm that is not there";
}

}  // namespace

Status rotate_gradient(const RotateGradient& call, void* stream) {
  if (call.of.num_tokens == 0) return nullptr;
  if (const char* what = misfit(call); what != nullptr) return what;
  const int64_t num_items = call.of.num_heads + 2 * call.of.num_kv_heads, width = call.of.head_dim;
  const dim3 grid(static_cast<unsigned>(kRotateGroups), static_cast<unsigned>(num_items));
  Status status = with_number(call.of.dtype, "rotate: expected numbers of 16 bits", [&]<class Number>() {
    return launch(&rotate_gradient_heads<Number>, grid, dim3(kHeadWarps * 32), 0, stream, call);
  });
  if (status == nullptr && (call.query.bias != nullptr || call.key.bias != nullptr || call.value.bias != nullptr)) {
    const unsigned num_blocks = blocks_of(num_items * width, kSumThreads);
    status = launch(&add_bias_groups, dim3(num_blocks), dim3(kSumThreads), 0, stream, call);
  }
  if (status == nullptr && (call.query.norm != nullptr || call.key.norm != nullptr)) {
    status = launch(&add_norm_groups, dim3(blocks_of(width, 32), 2), dim3(kSumWarps * 32), 0, stream, call);
  }
  return status;
}

int64_t rotate_gradient_scratch_floats(int64_t num_heads, int64_t num_kv_heads, int64_t head_dim) {
  return 2 * kRotateGroups * (num_heads + 2 * num_kv_heads) * head_dim;
}

}  // namespace seekrl::cuda
