// Kinds of vectors: how they are multiplied, how a product becomes a score, and whether that may be a hit.
//
// Row is what a row has beside its numbers; Query what a query has beside them, and its limit, the least score that may
// be among its hits. is_hit: whether a product reaches the limit. score: NaN for hidden rows, which are never kept.
#pragma once

#include "kernels/cuda/number.h"
#include "kernels/cuda/search/vectors.h"

namespace seekrl::cuda {

// Bytes of a vector that are in shared memory at once; 16 more keep equal chunks of eight vectors in different banks.
constexpr int kScanBytes = 128, kScanStride = kScanBytes + 16;

template <VectorKind kKind>
struct VectorProducts;

template <>
struct VectorProducts<VectorKind::kBf16> {
  using Sum = float;
  using Row = float;
  struct Query {
    float limit;
  };
  static constexpr bool kHasRows = false, kIsShort = false;
  static constexpr int kParts = 1;

  static __host__ __device__ __forceinline__ int64_t bytes(int64_t width) { return width * 2; }
  static __device__ __forceinline__ uint32_t part(uint32_t bytes, int) { return bytes; }
  static __device__ __forceinline__ void multiply(float (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
    mma_bf16(d, a, b0, b1);
  }
  static __device__ __forceinline__ Row row(const VectorSearch&, int64_t) { return 0; }
  static __device__ __forceinline__ Query query(const VectorSearch&, int64_t, float limit) { return {limit}; }
  static __device__ __forceinline__ Query no_query() { return {INFINITY}; }
  static __device__ __forceinline__ bool is_hit(float sum, const Query& query, Row) { return sum >= query.limit; }
  static __device__ __forceinline__ float score(float sum, const Query&, Row, float) { return sum; }
};

template <>
struct VectorProducts<VectorKind::kInt8> {
  using Sum = int32_t;
  using Row = float;  // its scale
  struct Query {
    float limit, scale;
  };
  static constexpr bool kHasRows = true, kIsShort = false;
  static constexpr int kParts = 1;

  static __host__ __device__ __forceinline__ int64_t bytes(int64_t width) { return width; }
  static __device__ __forceinline__ uint32_t part(uint32_t bytes, int) { return bytes; }
  static __device__ __forceinline__ void multiply(int32_t (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
    mma_int8(d, a, b0, b1);
  }
  static __device__ __forceinline__ Row row(const VectorSearch& call, int64_t row) {
    return row < call.num_rows ? call.row_scale_N[row] : NAN;
  }
  static __device__ __forceinline__ Query query(const VectorSearch& call, int64_t query, float limit) {
    return {limit, call.query_scale_Q[query]};
  }
  static __device__ __forceinline__ Query no_query() { return {INFINITY, 0}; }
  static __device__ __forceinline__ bool is_hit(int32_t sum, const Query& query, Row row) {
    return static_cast<float>(sum) * row * query.scale >= query.limit;
  }
  static __device__ __forceinline__ float score(int32_t sum, const Query& query, Row row, float) {
    return static_cast<float>(sum) * row * query.scale;
  }
};

// With h = 2 both - ones of row, D - 2 bits that differ = (D - 2 ones of query) + 2 h: two instructions compare h with
// the least that is a hit, where a score in f32 would cost more than its product.
//
// Where bits are not multiplied (kIsNative), codes are: part i has bit i of every byte.
template <bool kIsNative>
struct BinaryProducts {
  using Sum = int32_t;
  using Row = int32_t;  // its ones
  struct Query {
    int32_t limit, base;
  };
  static constexpr bool kHasRows = true, kIsShort = true;
  static constexpr int kParts = kIsNative ? 1 : 8;
  // Below every row, above every hidden one.
  static constexpr int32_t kNoLimit = -kHiddenOnes / 2;

  static __host__ __device__ __forceinline__ int64_t bytes(int64_t width) { return width / 8; }
  static __device__ __forceinline__ uint32_t part(uint32_t bytes, int i) {
    return kIsNative ? bytes : bytes >> i & 0x01010101u;
  }
  static __device__ __forceinline__ void multiply(int32_t (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
    kIsNative ? mma_bits(d, a, b0, b1) : mma_int8(d, a, b0, b1);
  }
  static __device__ __forceinline__ Row row(const VectorSearch& call, int64_t row) {
    return row < call.num_rows ? call.row_ones_N[row] : kHiddenOnes;
  }
  // A limit is the score of a row: times D it is a whole number but for rounding, whose distance from `base` is even.
  static __device__ __forceinline__ Query query(const VectorSearch& call, int64_t query, float limit) {
    const auto dim = static_cast<int32_t>(call.dim);
    const int32_t base = dim - 2 * call.query_ones_Q[query];
    if (limit == -INFINITY) return {kNoLimit, base};
    return {(static_cast<int32_t>(rintf(limit * static_cast<float>(dim))) - base) / 2, base};
  }
  static __device__ __forceinline__ Query no_query() { return {INT32_MAX, 0}; }
  static __device__ __forceinline__ bool is_hit(int32_t both, const Query& query, Row ones) {
    return 2 * both - ones >= query.limit;
  }
  static __device__ __forceinline__ float score(int32_t both, const Query& query, Row ones, float scale) {
    if (ones == kHiddenOnes) return NAN;
    return static_cast<float>(query.base + 2 * (2 * both - ones)) * scale * scale;
  }
};
template <>
struct VectorProducts<VectorKind::kBinary> : BinaryProducts<kHasBitProducts> {};

// sums [32, 64] += queries rows^T over the bytes that are in shared memory. Vectors of bits have so few that those
// beyond `num_bytes`, zeros, are worth a comparison.
template <class Products>
__device__ __forceinline__ void multiply_vectors(typename Products::Sum (&sums)[2][8][4], const unsigned char* queries,
                                                 const unsigned char* rows, int64_t num_bytes) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
  for (int c = 0; c < kScanBytes; c += 32) {
    if (Products::kIsShort && c >= num_bytes) break;
    uint32_t left[2][4];
#pragma unroll
    for (int m = 0; m < 2; ++m) {
      load_matrices_x4(left[m], queries + (m * 16 + lane % 16) * kScanStride + c + lane / 16 * 16);
    }
#pragma unroll 1
    for (int i = 0; i < Products::kParts; ++i) {
      uint32_t left_part[2][4], right[4];
#pragma unroll
      for (int k = 0; k < 8; ++k) left_part[k / 4][k % 4] = Products::part(left[k / 4][k % 4], i);
#pragma unroll
      for (int n = 0; n < 4; ++n) {
        load_matrices_x4(right, rows + (n * 16 + lane % 8 + lane / 16 * 8) * kScanStride + c + lane / 8 % 2 * 16);
#pragma unroll
        for (int k = 0; k < 4; ++k) right[k] = Products::part(right[k], i);
#pragma unroll
        for (int m = 0; m < 2; ++m) {
          Products::multiply(sums[m][2 * n], left_part[m], right[0], right[1]);
          Products::multiply(sums[m][2 * n + 1], left_part[m], right[2], right[3]);
        }
      }
    }
  }
}

}  // namespace seekrl::cuda
