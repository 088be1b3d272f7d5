// A block a row.
#include "kernels/cuda/launch.h"
#include "kernels/cuda/layer/norm.h"
#include "kernels/cuda/number.h"
#include "kernels/cuda/reduce.h"

namespace seekrl::cuda {

namespace {

constexpr Status kRefusal = "norm: expected numbers of 16 bits";
constexpr Status kMisaligned = "norm: expected multiples of 16 bytes";
constexpr int kNormThreads = 256;

template <class Number, int kVectors>
__global__ void __launch_bounds__(kNormThreads) add_norm_rows(AddNorm call) {
  SEEKRL_SHARED(float, parts, kNormThreads / 32);
  const int64_t row = blockIdx.x, width = call.width;
  float x[kVectors][8];
  float squares = 0;
#pragma unroll
  for (int i = 0; i < kVectors; ++i) {
    const int64_t c = (int64_t{i} * kNormThreads + threadIdx.x) * 8;
    if (c >= width) continue;
    if (call.residual_TD == nullptr) {
      load_8(x[i], static_cast<const Number*>(call.added_TD) + row * width + c);
    } else {
      load_8(x[i], call.residual_TD + row * width + c);
    }
    if (call.residual_TD != nullptr && call.added_TD != nullptr) {
      float added[8];
      load_8(added, static_cast<const Number*>(call.added_TD) + row * width + c);
#pragma unroll
      for (int j = 0; j < 8; ++j) x[i][j] += added[j];
      store_8(call.sum_TD + row * width + c, x[i]);
    }
#pragma unroll
    for (int j = 0; j < 8; ++j) squares += x[i][j] * x[i][j];
  }
  if (call.out_TD == nullptr) return;
  const float mean = reduce_block<Sum, kNormThreads>(squares, parts) / static_cast<float>(width);
  const float scale = rsqrtf(mean + call.epsilon);
  if (threadIdx.x == 0 && call.scale_T != nullptr) call.scale_T[row] = scale;
#pragma unroll
  for (int i = 0; i < kVectors; ++i) {
    const int64_t c = (int64_t{i} * kNormThreads + threadIdx.x) * 8;
    if (c >= width) continue;
    float weight[8];
    load_8(weight, static_cast<const Number*>(call.weight_D) + c);
#pragma unroll
    for (int j = 0; j < 8; ++j) weight[j] = x[i][j] * scale * (weight[j] + call.weight_offset);
    store_8(static_cast<Number*>(call.out_TD) + row * width + c, weight);
  }
}

template <class Number, int kVectors>
__global__ void __launch_bounds__(kNormThreads) norm_gradient_rows(NormGradient call) {
  SEEKRL_SHARED(float, parts, kNormThreads / 32);
  const int64_t row = blockIdx.x, width = call.width;
  const float scale = call.scale_T[row];
  float x[kVectors][8], g[kVectors][8];
  float dot = 0;
#pragma unroll
  for (int i = 0; i < kVectors; ++i) {
    const int64_t c = (int64_t{i} * kNormThreads + threadIdx.x) * 8;
    if (c >= width) continue;
    float weight[8];
    load_8(x[i], call.residual_TD + row * width + c);
    load_8(g[i], static_cast<const Number*>(call.out_grad_TD) + row * width + c);
    load_8(weight, static_cast<const Number*>(call.weight_D) + c);
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      g[i][j] *= weight[j] + call.weight_offset;
      dot += g[i][j] * x[i][j];
    }
  }
  const float mean = reduce_block<Sum, kNormThreads>(dot, parts) / static_cast<float>(width);
  const float factor = mean * scale * scale;
#pragma unroll
  for (int i = 0; i < kVectors; ++i) {
    const int64_t c = (int64_t{i} * kNormThreads + threadIdx.x) * 8;
    if (c >= width) continue;
    float* const at = call.residual_grad_TD + row * width + c;
    float sum[8];
    load_8(sum, at);
#pragma unroll
    for (int j = 0; j < 8; ++j) sum[j] += scale * (g[i][j] - x[i][j] * factor);
    store_8(at, sum);
  }
}

// blockIdx.y: a group of consecutive rows; a thread: eight columns.
template <class Number>
__global__ void __launch_bounds__(kNormThreads) norm_weight_gradient(NormGradient call) {
  const int64_t c = (int64_t{blockIdx.x} * kNormThreads + threadIdx.x) * 8;
  if (c >= call.width) return;
  const int64_t per_group = (call.num_rows + kNormGroups - 1) / kNormGroups, first = blockIdx.y * per_group;
  float sum[8] = {};
  for (int64_t row = first; row < min(first + per_group, call.num_rows); ++row) {
    float x[8], g[8];
    load_8(x, call.residual_TD + row * call.width + c);
    load_8(g, static_cast<const Number*>(call.out_grad_TD) + row * call.width + c);
    const float scale = call.scale_T[row];
#pragma unroll
    for (int j = 0; j < 8; ++j) sum[j] += g[j] * x[j] * scale;
  }
  store_8(call.scratch + blockIdx.y * call.width + c, sum);
}

__global__ void __launch_bounds__(kNormThreads) add_groups(NormGradient call) {
  const int64_t c = int64_t{blockIdx.x} * kNormThreads + threadIdx.x;
  if (c >= call.width) return;
  float sum = call.weight_grad_D[c];
  for (int64_t group = 0; group < kNormGroups; ++group) sum += call.scratch[group * call.width + c];
  call.weight_grad_D[c] = sum;
}

// Calls `body` with how many groups of eight neighbours a thread has in a row of `width`.
template <class Body>
Status with_vectors(int64_t width, const Body& body) {
  if (width % 8 != 0 || width > 16384) return "norm: expected a width that is a multiple of 8 and at most 16,384";
  const int64_t vectors = (width / 8 + kNormThreads - 1) / kNormThreads;
  if (vectors <= 1) return body.template operator()<1>();
  if (vectors <= 2) return body.template operator()<2>();
  if (vectors <= 4) return body.template operator()<4>();
  return body.template operator()<8>();
}

}  // namespace

Status add_norm(const AddNorm& call, void* stream) {
  if (call.num_rows == 0) return nullptr;
  if (!are_aligned({call.out_TD, call.sum_TD, call.residual_TD, call.added_TD, call.weight_D})) return kMisaligned;
  return with_number(call.dtype, kRefusal, [&]<class Number>() {
    return with_vectors(call.width, [&]<int kVectors>() {
      return launch(&add_norm_rows<Number, kVectors>, dim3(static_cast<unsigned>(call.num_rows)), dim3(kNormThreads), 0,
                    stream, call);
    });
  });
}

Status norm_gradient(const NormGradient& call, void* stream) {
  if (call.num_rows == 0) return nullptr;
  if (!are_aligned({call.residual_grad_TD, call.scratch, call.out_grad_TD, call.residual_TD, call.weight_D}))
    return kMisaligned;
  return with_number(call.dtype, kRefusal, [&]<class Number>() -> Status {
    const Status status = with_vectors(call.width, [&]<int kVectors>() {
      return launch(&norm_gradient_rows<Number, kVectors>, dim3(static_cast<unsigned>(call.num_rows)),
                    dim3(kNormThreads), 0, stream, call);
    });
    if (status != nullptr || call.weight_grad_D == nullptr) return status;
    const dim3 grid(blocks_of(call.width, kNormThreads * 8), static_cast<unsigned>(kNormGroups));
    const Status sums = launch(&norm_weight_gradient<Number>, grid, dim3(kNormThreads), 0, stream, call);
    if (sums != nullptr) return sums;
    return launch(&add_groups, dim3(blocks_of(call.width, kNormThreads)), dim3(kNormThreads), 0, stream, call);
  });
}

int64_t norm_gradient_scratch_floats(int64_t width) { return kNormGroups * width; }

}  // namespace seekrl::cuda
