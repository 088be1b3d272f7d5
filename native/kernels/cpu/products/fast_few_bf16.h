// Products of bf16 for few rows, bound by reading the weight: its blocks are turned and used at once.
#pragma once

#include "kernels/cpu/products/fast_bf16.h"

namespace seekrl::kernels::SEEKRL_ISA {

// 16 pairs of at most 16 rows, turned: [p] holds pair p of each row.
#if defined(__AVX512F__)
struct TurnedPairs {
  __m512 pairs[16];

#if defined(__AVX512BF16__)
  Pairs operator[](int p) const { return {_mm512_castps_si512(pairs[p])}; }
#else
  Pairs operator[](int p) const { return widen_pairs(_mm512_castps_si512(pairs[p])); }
#endif
  void turn(const float* const (&rows)[kLanes], int64_t first) {
    for (int r = 0; r < kLanes; ++r) pairs[r] = _mm512_loadu_ps(rows[r] + first);
    transpose_16x16(pairs);
  }
  void turn_part(const float* const (&rows)[kLanes], int64_t first, int64_t num_rows, int64_t count) {
    for (int r = 0; r < kLanes; ++r) pairs[r] = (r < num_rows ? load_first(rows[r] + first, count) : zeros()).all;
    transpose_16x16(pairs);
  }
};
#else
struct TurnedPairs {
  float pairs[kLanes * kLanes];

  Pairs operator[](int p) const { return load_pairs(reinterpret_cast<const uint16_t*>(pairs + p * kLanes)); }
  void turn(const float* const (&rows)[kLanes], int64_t first) { turn_part(rows, first, kLanes, kLanes); }
  void turn_part(const float* const (&rows)[kLanes], int64_t first, int64_t num_rows, int64_t count) {
    transpose_block(pairs, kLanes, rows, num_rows, first, count);
  }
};
#endif

// A pair of bf16 moves as one f32 does.
inline void row_pointers(const float* (&rows)[kLanes], const ValueRows& from, int64_t count) {
  for (int64_t r = 0; r < count; ++r) rows[r] = reinterpret_cast<const float*>(from.data + r * from.stride);
}

// kRows x `columns` elements of C, at most 16 columns.
template <int kRows>
inline void multiply_few_pairs(float* c, int64_t c_stride, const ValueRows& a, const ValueRows& b, int64_t columns,
                               int64_t k, const float* bias) {
  const float* rows[kLanes];
  row_pointers(rows, b, columns);
  const Lanes start = bias == nullptr ? zeros() : load_first(bias, columns);
  Lanes sums[kRows];
  for (Lanes& sum : sums) sum = start;
  TurnedPairs turned;
  int64_t i = 0;
  for (; columns == kLanes && i + kPairLanes <= k; i += kPairLanes) {
    call_rows(b, i, kLanes);
    turned.turn(rows, i / 2);
    for (int p = 0; p < kLanes; ++p) {
      for (int r = 0; r < kRows; ++r) {
        sums[r] = add_products(sums[r], broadcast_pair(a.data + r * a.stride + i + 2 * p), turned[p]);
      }
    }
  }
  for (; i < k; i += kPairLanes) {
    const int64_t count = k - i < kPairLanes ? (k - i) / 2 : kLanes;
    turned.turn_part(rows, i / 2, columns, count);
    for (int64_t p = 0; p < count; ++p) {
      for (int r = 0; r < kRows; ++r) {
        const Pairs factor = broadcast_pair(a.data + r * a.stride + i + 2 * p);
        sums[r] = add_products(sums[r], factor, turned[static_cast<int>(p)]);
      }
    }
  }
  for (int r = 0; r < kRows; ++r) store_first(c + r * c_stride, sums[r], columns);
}

inline void few_matmul(float* c_MN, int64_t c_stride, const ValueRows& a_MK, const ValueRows& b_NK, int64_t m,
                       int64_t n, int64_t k, const float* bias_N) {
  for (int64_t column = 0; column < n; column += kLanes) {
    const int64_t columns = n - column < kLanes ? n - column : kLanes;
    const ValueRows b = {b_NK.data + column * b_NK.stride, b_NK.stride};
    with_count<kFewRowsOfPairs>(m, [&](auto rows) {
      multiply_few_pairs<rows>(c_MN + column, c_stride, a_MK, b, columns, k,
                               bias_N == nullptr ? nullptr : bias_N + column);
    });
  }
}

}  // namespace seekrl::kernels::SEEKRL_ISA
