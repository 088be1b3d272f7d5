// A block a row where a row is summed; where nothing is, a thread eight neighbours.
#include "kernels/cuda/encoder/rows.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/number.h"
#include "kernels/cuda/reduce.h"

namespace seekrl::cuda {

namespace {

constexpr Status kRefusal = "encoder: expected numbers of 16 bits";
constexpr Status kMisaligned = "encoder: expected rows, weights and biases at multiples of 16 bytes";
constexpr int kThreads = 128;

// Calls `body(i, c)` for this thread's eights of a row, number i from column c.
template <int kVectors, class Body>
__device__ __forceinline__ void for_eights(int64_t width, const Body& body) {
#pragma unroll
  for (int i = 0; i < kVectors; ++i) {
    const int64_t c = (int64_t{i} * kThreads + threadIdx.x) * 8;
    if (c < width) body(i, c);
  }
}

template <class Number, int kVectors>
__global__ void __launch_bounds__(kThreads) layer_norm_rows(AddLayerNorm call) {
  SEEKRL_SHARED(float, parts, 2 * kThreads / 32);
  const int64_t width = call.width, start = blockIdx.x * width;
  float x[kVectors][8], sum = 0, squares = 0;
  for_eights<kVectors>(width, [&](int i, int64_t c) {
    load_8(x[i], call.rows_TD + start + c);
    if (call.added_TD != nullptr) {
      float added[8];
      load_8(added, static_cast<const Number*>(call.added_TD) + start + c);
#pragma unroll
      for (int j = 0; j < 8; ++j) x[i][j] += added[j];
    }
#pragma unroll
    for (int j = 0; j < 8; ++j) sum += x[i][j];
  });
  const float mean = reduce_block<Sum, kThreads>(sum, parts) / static_cast<float>(width);
  for_eights<kVectors>(width, [&](int i, int64_t) {
#pragma unroll
    for (int j = 0; j < 8; ++j) squares += (x[i][j] - mean) * (x[i][j] - mean);
  });
  const float variance = reduce_block<Sum, kThreads>(squares, parts + kThreads / 32) / static_cast<float>(width);
  const float scale = 1.0f / sqrtf(variance + call.epsilon);
  for_eights<kVectors>(width, [&](int i, int64_t c) {
    float weight[8], bias[8];
    load_8(weight, call.weight_D + c);
    load_8(bias, call.bias_D + c);
#pragma unroll
    for (int j = 0; j < 8; ++j) x[i][j] = (x[i][j] - mean) * scale * weight[j] + bias[j];
    store_8(call.rows_TD + start + c, x[i]);
    if (call.out_TD != nullptr) store_8(static_cast<Number*>(call.out_TD) + start + c, x[i]);
  });
}

template <class Number>
__global__ void __launch_bounds__(kThreads) gelu_eights(BiasGelu call) {
  const int64_t at = (int64_t{blockIdx.x} * kThreads + threadIdx.x) * 8;
  if (at >= call.num_rows * call.width) return;
  Number* const rows = static_cast<Number*>(call.rows_TI) + at;
  float x[8], bias[8] = {};
  load_8(x, rows);
  if (call.bias_I != nullptr) load_8(bias, static_cast<const Number*>(call.bias_I) + at % call.width);
#pragma unroll
  for (int j = 0; j < 8; ++j) {
    const float z = x[j] + bias[j];
    x[j] = 0.5f * z * (1.0f + erff(z * 0.70710678f));
  }
  store_8(rows, x);
}

template <int kVectors>
__global__ void __launch_bounds__(kThreads) pool_rows(PoolTexts call) {
  SEEKRL_SHARED(float, parts, kThreads / 32);
  const int64_t text = blockIdx.x, width = call.width;
  const bool is_last = call.kind == PoolKind::kLast;
  const int64_t end = call.kind == PoolKind::kFirst ? call.start_S[text] + 1 : call.start_S[text + 1];
  const int64_t first = is_last ? end - 1 : call.start_S[text];
  float sums[kVectors][8] = {}, squares = 0;
  for (int64_t row = first; row < end; ++row) {
    for_eights<kVectors>(width, [&](int i, int64_t c) {
      float x[8];
      load_8(x, call.rows_TD + row * width + c);
#pragma unroll
      for (int j = 0; j < 8; ++j) sums[i][j] += x[j];
    });
  }
  const auto count = static_cast<float>(end - first);
  for_eights<kVectors>(width, [&](int i, int64_t) {
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      sums[i][j] /= count;
      squares += sums[i][j] * sums[i][j];
    }
  });
  float scale = 1;
  if (call.is_normalised) {
    const float all = reduce_block<Sum, kThreads>(squares, parts);
    if (all > 0) scale = 1.0f / sqrtf(all);
  }
  for_eights<kVectors>(width, [&](int i, int64_t c) {
#pragma unroll
    for (int j = 0; j < 8; ++j) sums[i][j] *= scale;
    store_8(call.out_SD + text * width + c, sums[i]);
  });
}

// Calls `body` with how many eights a thread has of a row.
template <class Body>
Status with_vectors(int64_t width, const Body& body) {
  if (width < 8 || width % 8 != 0 || width > 16384) {
    return "encoder: expected a width that is a multiple of 8 and at most 16,384";
  }
  const int64_t vectors = ceil_divide(width / 8, kThreads);
  if (vectors <= 1) return body.template operator()<1>();
  if (vectors <= 2) return body.template operator()<2>();
  if (vectors <= 4) return body.template operator()<4>();
  return body.template operator()<16>();
}

}  // namespace

Status add_layer_norm(const AddLayerNorm& call, void* stream) {
  if (call.num_rows == 0) return nullptr;
  if (!are_aligned({call.out_TD, call.rows_TD, call.added_TD, call.weight_D, call.bias_D})) return kMisaligned;
  const dim3 grid(static_cast<unsigned>(call.num_rows));
  return with_number(call.dtype, kRefusal, [&]<class Number>() {
    return with_vectors(call.width, [&]<int kVectors>() {
      return launch(&layer_norm_rows<Number, kVectors>, grid, dim3(kThreads), 0, stream, call);
    });
  });
}

Status bias_gelu(const BiasGelu& call, void* stream) {
  if (call.num_rows == 0) return nullptr;
  if (call.width < 8 || call.width % 8 != 0) return "gelu: expected a width that is a multiple of 8";
  if (!are_aligned({call.rows_TI, call.bias_I})) return kMisaligned;
  const int64_t num_eights = call.num_rows * call.width / 8;
  const dim3 grid(blocks_of(num_eights, kThreads));
  return with_number(call.dtype, kRefusal, [&]<class Number>() {
    return launch(&gelu_eights<Number>, grid, dim3(kThreads), 0, stream, call);
  });
}

Status pool_texts(const PoolTexts& call, void* stream) {
  if (call.num_texts == 0) return nullptr;
  if (!are_aligned({call.out_SD, call.rows_TD})) return kMisaligned;
  const dim3 grid(static_cast<unsigned>(call.num_texts));
  return with_vectors(
      call.width, [&]<int kVectors>() { return launch(&pool_rows<kVectors>, grid, dim3(kThreads), 0, stream, call); });
}

}  // namespace seekrl::cuda
