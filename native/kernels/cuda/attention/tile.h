// Tiles of 16-bit rows in shared memory and the products of a warp over them.
#pragma once

#include "kernels/cpu/exp.h"
#include "kernels/cuda/number.h"
#include "kernels/cuda/reduce.h"

namespace seekrl::cuda {

using kernels::kLog2E;

// A row of C values of 16 bits and 16 bytes more: eight rows' equal chunks then lie in different banks.
template <int C>
constexpr int kRowStride = C + 8;

// Brings rows to shared memory: row r from `row_at(r)`, zeros where that is null and from column `num_columns` on, a
// multiple of 8.
template <int C, int kRows, int kThreads, class RowAt>
__device__ __forceinline__ void fetch_rows(uint16_t* to, const RowAt& row_at, int64_t num_columns = C) {
#pragma unroll 4
  for (int i = static_cast<int>(threadIdx.x); i < kRows * (C / 8); i += kThreads) {
    const int row = i / (C / 8), column = i % (C / 8) * 8;
    const uint16_t* const from = column < num_columns ? row_at(row) : nullptr;
    copy_async_16_or_zero(to + row * kRowStride<C> + column, from == nullptr ? nullptr : from + column,
                          from != nullptr);
  }
}

// sums [16, kColumns] += a [16, C] b [kColumns, C]^T, both by row.
template <class Number, int C, int kColumns>
__device__ __forceinline__ void multiply_rows(float (&sums)[kColumns / 8][4], const uint16_t* a, const uint16_t* b) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
  for (int c = 0; c < C; c += 16) {
    uint32_t left[4], right[4];
    load_matrices_x4(left, a + lane % 16 * kRowStride<C> + c + lane / 16 * 8);
#pragma unroll
    for (int n = 0; n < kColumns / 16; ++n) {
      load_matrices_x4(right, b + (n * 16 + lane % 8 + lane / 16 * 8) * kRowStride<C> + c + lane / 8 % 2 * 8);
      mma(Number{}, sums[2 * n], left, right[0], right[1]);
      mma(Number{}, sums[2 * n + 1], left, right[2], right[3]);
    }
  }
}

// Fragments of sums [16, kDepth] as the left factor of a product.
template <class Number, int kDepth>
__device__ __forceinline__ void pack_weights(uint32_t (&pairs)[kDepth / 16][4], const float (&a)[kDepth / 8][4]) {
#pragma unroll
  for (int i = 0; i < kDepth / 4; ++i) {
    const float* const two = a[i / 2] + i % 2 * 2;
    pairs[i / 4][i % 4] = pack<Number>(two[0], two[1]);
  }
}

// sums [16, kColumns] += a [16, 16], packed, times columns [first, first + kColumns) of b [16, C].
template <class Number, int C, int kColumns>
__device__ __forceinline__ void multiply_columns(float (&sums)[kColumns / 8][4], const uint32_t (&a)[4],
                                                 const uint16_t* b, int first) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  uint32_t right[4];
#pragma unroll
  for (int c = 0; c < kColumns / 16; ++c) {
    load_matrices_x4_transposed(right, b + lane % 16 * kRowStride<C> + first + c * 16 + lane / 16 * 8);
    mma(Number{}, sums[2 * c], a, right[0], right[1]);
    mma(Number{}, sums[2 * c + 1], a, right[2], right[3]);
  }
}

// sums [16, kColumns] += a [16, kDepth], in fragments of sums, times columns [first, first + kColumns) of b [kDepth,
// C].
template <class Number, int C, int kDepth, int kColumns>
__device__ __forceinline__ void multiply_columns(float (&sums)[kColumns / 8][4], const float (&a)[kDepth / 8][4],
                                                 const uint16_t* b, int first) {
  uint32_t pairs[kDepth / 16][4];
  pack_weights<Number, kDepth>(pairs, a);
#pragma unroll
  for (int k = 0; k < kDepth / 16; ++k) {
    multiply_columns<Number, C, kColumns>(sums, pairs[k], b + k * 16 * kRowStride<C>, first);
  }
}

// Of a row's four lanes.
template <class Join>
__device__ __forceinline__ float join_row(float value, const Join& join) {
  value = join(value, __shfl_xor_sync(~0u, value, 1));
  return join(value, __shfl_xor_sync(~0u, value, 2));
}

// Row lane / 4 + 8 r of a warp's fragments, times `factor`, to `row`, which begins at its first column.
template <class Number, int kColumns>
__device__ __forceinline__ void store_row(Number* row, const float (&sums)[kColumns / 8][4], int r, float factor) {
  Number* const to = row + threadIdx.x % 4 * 2;
#pragma unroll
  for (int c = 0; c < kColumns / 8; ++c) {
    *reinterpret_cast<uint32_t*>(to + c * 8) = pack<Number>(sums[c][2 * r] * factor, sums[c][2 * r + 1] * factor);
  }
}

// A warp's running softmax of 16 rows: lane l has rows l / 4 and l / 4 + 8.
template <int C>
struct RowSums {
  float out[C / 8][4] = {};
  float top[2] = {-INFINITY, -INFINITY};  // of scores
  float sum[2] = {0, 0};                  // this lane's part
};

// Takes kKeys more keys: scores times log2(e), minus infinity where a row does not see a key, and their values.
template <class Number, int C, int kKeys>
__device__ __forceinline__ void add_keys(RowSums<C>& rows, float (&scores)[kKeys / 8][4], const uint16_t* values) {
  float keep[2];
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    float top = rows.top[r];
#pragma unroll
    for (int n = 0; n < kKeys / 8; ++n) top = fmaxf(top, fmaxf(scores[n][2 * r], scores[n][2 * r + 1]));
    top = join_row(top, Max());
    // A row that has met no key yet has nothing to keep.
    keep[r] = top == -INFINITY ? 1.0f : exp2f(rows.top[r] - top);
    rows.top[r] = top;
    rows.sum[r] *= keep[r];
#pragma unroll
    for (int n = 0; n < kKeys / 8; ++n) {
#pragma unroll
      for (int i = 2 * r; i < 2 * r + 2; ++i) {
        scores[n][i] = scores[n][i] == -INFINITY ? 0.0f : exp2f(scores[n][i] - top);
        rows.sum[r] += scores[n][i];
      }
    }
  }
#pragma unroll
  for (int c = 0; c < C / 8; ++c) {
#pragma unroll
    for (int i = 0; i < 4; ++i) rows.out[c][i] *= keep[i / 2];
  }
  multiply_columns<Number, C, kKeys, C>(rows.out, scores, values, 0);
}

// A scaled and capped score times log2(e), and the derivative of the cap.
struct Score {
  float value, slope;
};
template <class Call>
__device__ __forceinline__ Score score_of(const Call& call, float product) {
  const float s = product * call.scale;
  if (call.softcap <= 0) return {s * kLog2E, 1.0f};
  const float t = tanhf(s / call.softcap);
  return {call.softcap * t * kLog2E, 1.0f - t * t};
}

}  // namespace seekrl::cuda
