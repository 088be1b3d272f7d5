// Products of bf16 in register tiles, by the processor's own instruction where it has one, else as two f32 each.
#pragma once

#include <cstring>
#include <type_traits>

#include "kernels/cpu/lanes.h"
#include "kernels/products/bf16.h"

namespace seekrl::kernels::SEEKRL_ISA {

#if defined(__AVX512BF16__)

struct Pairs {
  __m512i all;
};

inline Pairs load_pairs(const uint16_t* from) { return {_mm512_loadu_si512(from)}; }
inline Pairs broadcast_pair(const uint16_t* from) {
  int32_t pair;
  std::memcpy(&pair, from, sizeof(pair));
  return {_mm512_set1_epi32(pair)};
}
// sum += a_0 b_0 + a_1 b_1 in each lane.
inline Lanes add_products(Lanes sum, Pairs a, Pairs b) {
  return {_mm512_dpbf16_ps(sum.all, (__m512bh)a.all, (__m512bh)b.all)};
}
inline void store_rounded(uint16_t* to, Lanes x) {
  const __m256bh rounded = _mm512_cvtneps_pbh(x.all);
  std::memcpy(to, &rounded, sizeof(rounded));
}

inline constexpr int kBf16Vectors = 4;

#else

struct Pairs {
  Lanes even, odd;
};

#if defined(__AVX512F__)
inline Pairs widen_pairs(__m512i pairs) {
  return {{_mm512_castsi512_ps(_mm512_slli_epi32(pairs, 16))},
          {_mm512_castsi512_ps(_mm512_and_si512(pairs, _mm512_set1_epi32(static_cast<int>(0xffff0000u))))}};
}
inline Pairs load_pairs(const uint16_t* from) { return widen_pairs(_mm512_loadu_si512(from)); }
inline Pairs broadcast_pair(const uint16_t* from) {
  int32_t pair;
  std::memcpy(&pair, from, sizeof(pair));
  return widen_pairs(_mm512_set1_epi32(pair));
}
inline void store_rounded(uint16_t* to, Lanes x) {
  const __m512i bits = _mm512_castps_si512(x.all), upper = _mm512_srli_epi32(bits, 16);
  const __m512i last = _mm512_and_si512(upper, _mm512_set1_epi32(1));
  const __m512i nearest = _mm512_add_epi32(bits, _mm512_add_epi32(last, _mm512_set1_epi32(0x7fff)));
  const __mmask16 is_nan = _mm512_cmp_ps_mask(x.all, x.all, _CMP_UNORD_Q);
  const __m512i quiet = _mm512_or_si512(upper, _mm512_set1_epi32(0x40));
  const __m512i rounded = _mm512_mask_mov_epi32(_mm512_srli_epi32(nearest, 16), is_nan, quiet);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm512_cvtepi32_epi16(rounded));
}
inline constexpr int kBf16Vectors = 2;
#else
inline Lanes even_of(__m256i low, __m256i high) {
  return {_mm256_castsi256_ps(_mm256_slli_epi32(low, 16)), _mm256_castsi256_ps(_mm256_slli_epi32(high, 16))};
}
inline Lanes odd_of(__m256i low, __m256i high) {
  const __m256i upper = _mm256_set1_epi32(static_cast<int>(0xffff0000u));
  return {_mm256_castsi256_ps(_mm256_and_si256(low, upper)), _mm256_castsi256_ps(_mm256_and_si256(high, upper))};
}
inline Pairs load_pairs(const uint16_t* from) {
  const __m256i low = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
  const __m256i high = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + 16));
  return {even_of(low, high), odd_of(low, high)};
}
inline Pairs broadcast_pair(const uint16_t* from) {
  int32_t pair;
  std::memcpy(&pair, from, sizeof(pair));
  const __m256i all = _mm256_set1_epi32(pair);
  return {even_of(all, all), odd_of(all, all)};
}
inline __m256i round_part(__m256 x) {
  const __m256i bits = _mm256_castps_si256(x), upper = _mm256_srli_epi32(bits, 16);
  const __m256i last = _mm256_and_si256(upper, _mm256_set1_epi32(1));
  const __m256i nearest = _mm256_add_epi32(bits, _mm256_add_epi32(last, _mm256_set1_epi32(0x7fff)));
  const __m256i is_nan = _mm256_castps_si256(_mm256_cmp_ps(x, x, _CMP_UNORD_Q));
  const __m256i quiet = _mm256_or_si256(upper, _mm256_set1_epi32(0x40));
  return _mm256_blendv_epi8(_mm256_srli_epi32(nearest, 16), quiet, is_nan);
}
inline void store_rounded(uint16_t* to, Lanes x) {
  const __m256i both = _mm256_packus_epi32(round_part(x.low), round_part(x.high));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm256_permute4x64_epi64(both, 0xd8));
}
inline constexpr int kBf16Vectors = 1;
#endif

inline Lanes add_products(Lanes sum, Pairs a, Pairs b) { return fma(a.even, b.even, fma(a.odd, b.odd, sum)); }

#endif

// Values that load_pairs reads.
inline constexpr int64_t kPairLanes = 2 * kLanes;

// The first `count` pairs, zeros behind.
inline Pairs load_first_pairs(const uint16_t* from, int64_t count) {
  if (count >= kLanes) return load_pairs(from);
  uint16_t pairs[kPairLanes] = {};
  std::memcpy(pairs, from, static_cast<size_t>(count) * 2 * sizeof(uint16_t));
  return load_pairs(pairs);
}

// Rows of one register tile: with kBf16Vectors vectors of sums they leave registers for the factors.
inline constexpr int64_t kPairRows = 6;

// Calls body(std::integral_constant<int, rows>) for 1 to 6 rows.
template <class Body>
inline void with_rows(int64_t rows, const Body& body) {
  switch (rows) {
    case 1: return body(std::integral_constant<int, 1>());
    case 2: return body(std::integral_constant<int, 2>());
    case 3: return body(std::integral_constant<int, 3>());
    case 4: return body(std::integral_constant<int, 4>());
    case 5: return body(std::integral_constant<int, 5>());
    default: return body(std::integral_constant<int, 6>());
  }
}

// Calls body(first row, constant number of rows) for m rows in groups of at most six that differ by no more than one.
template <class Body>
inline void for_row_groups(int64_t m, const Body& body) {
  for (int64_t left = (m + kPairRows - 1) / kPairRows, row = 0; left > 0; --left) {
    const int64_t rows = (m - row + left - 1) / left;
    with_rows(rows, [&](auto count) { body(row, count); });
    row += rows;
  }
}

#if defined(__AVX512F__)

// The sum of the lanes of sums[i] in lane i.
inline Lanes lane_sums(const Lanes (&sums)[16]) {
  __m512 x[8];
  for (int i = 0; i < 8; ++i) {
    const __m512 a = sums[2 * i].all, b = sums[2 * i + 1].all;
    x[i] = _mm512_add_ps(_mm512_unpacklo_ps(a, b), _mm512_unpackhi_ps(a, b));
  }
  for (int i = 0; i < 4; ++i) {
    const __m512d a = _mm512_castps_pd(x[2 * i]), b = _mm512_castps_pd(x[2 * i + 1]);
    x[i] = _mm512_add_ps(_mm512_castpd_ps(_mm512_unpacklo_pd(a, b)), _mm512_castpd_ps(_mm512_unpackhi_pd(a, b)));
  }
  // Now each 128-bit part of x[i] has a quarter of the sums 4 i to 4 i + 3.
  for (int i = 0; i < 2; ++i) {
    const __m512 a = x[2 * i], b = x[2 * i + 1];
    x[i] = _mm512_add_ps(_mm512_shuffle_f32x4(a, b, 0x88), _mm512_shuffle_f32x4(a, b, 0xdd));
  }
  return {_mm512_add_ps(_mm512_shuffle_f32x4(x[0], x[1], 0x88), _mm512_shuffle_f32x4(x[0], x[1], 0xdd))};
}

#else

inline Lanes lane_sums(const Lanes (&sums)[16]) {
  float totals[16];
  for (int i = 0; i < 16; ++i) totals[i] = sum_lanes(sums[i]);
  return load(totals);
}

#endif

// C's kRows x kColumns elements: lane r kColumns + j of `totals` and the bias of column j.
template <int kRows, int kColumns>
inline void store_totals(float* c, int64_t c_stride, Lanes totals, const float* bias) {
  float biases[kLanes] = {};
  if (bias != nullptr) {
    for (int r = 0; r < kRows; ++r) std::memcpy(biases + r * kColumns, bias, kColumns * sizeof(float));
    totals = totals + load(biases);
  }
#if defined(__AVX512F__)
  if constexpr (kRows == 4 && kColumns == 4) {
    _mm_storeu_ps(c, _mm512_castps512_ps128(totals.all));
    _mm_storeu_ps(c + c_stride, _mm512_extractf32x4_ps(totals.all, 1));
    _mm_storeu_ps(c + 2 * c_stride, _mm512_extractf32x4_ps(totals.all, 2));
    _mm_storeu_ps(c + 3 * c_stride, _mm512_extractf32x4_ps(totals.all, 3));
    return;
  }
#endif
  float elements[kLanes];
  store(elements, totals);
  for (int r = 0; r < kRows; ++r) std::memcpy(c + r * c_stride, elements + r * kColumns, kColumns * sizeof(float));
}

// Every sum of the tile has its share of 32 values of each row.
template <int kRows, int kColumns>
inline void add_dots(Lanes (&sums)[16], const uint16_t* a, int64_t a_stride, const uint16_t* b, int64_t b_stride) {
  Pairs columns[kColumns];
  for (int j = 0; j < kColumns; ++j) columns[j] = load_pairs(b + j * b_stride);
  for (int r = 0; r < kRows; ++r) {
    const Pairs row = load_pairs(a + r * a_stride);
    for (int j = 0; j < kColumns; ++j) sums[r * kColumns + j] = add_products(sums[r * kColumns + j], row, columns[j]);
  }
}

// The last k < 32 values of each row, with zeros behind.
template <int kRows, int kColumns>
inline void add_last_dots(Lanes (&sums)[16], const uint16_t* a, int64_t a_stride, const uint16_t* b, int64_t b_stride,
                          int64_t k) {
  uint16_t last_a[kRows * kPairLanes] = {}, last_b[kColumns * kPairLanes] = {};
  const size_t size = static_cast<size_t>(k) * sizeof(uint16_t);
  for (int r = 0; r < kRows; ++r) std::memcpy(last_a + r * kPairLanes, a + r * a_stride, size);
  for (int j = 0; j < kColumns; ++j) std::memcpy(last_b + j * kPairLanes, b + j * b_stride, size);
  add_dots<kRows, kColumns>(sums, last_a, kPairLanes, last_b, kPairLanes);
}

// A weight that comes from memory is called into the second-level cache this many rows ahead: called into the first, or
// fewer rows ahead, four rows of A are multiplied at half the speed.
inline constexpr int64_t kRowsAhead = 16;

// kRows x kColumns elements of C, at most 16. Where `b` comes from memory, rows after it are called for meanwhile.
// Without a last part of less than 32 values the sums never leave their registers.
template <int kRows, int kColumns, bool kFetches, bool kHasLast>
[[gnu::always_inline]] inline void dot_tile(float* c, int64_t c_stride, const uint16_t* a, int64_t a_stride,
                                            const uint16_t* b, int64_t b_stride, int64_t k, const float* bias) {
  Lanes sums[16];
  for (Lanes& sum : sums) sum = zeros();
  int64_t i = 0;
  for (; i + kPairLanes <= k; i += kPairLanes) {
    if constexpr (kFetches) {
      for (int j = 0; j < kColumns; ++j) {
        _mm_prefetch(reinterpret_cast<const char*>(b + (kRowsAhead + j) * b_stride + i), _MM_HINT_T1);
      }
    }
    add_dots<kRows, kColumns>(sums, a + i, a_stride, b + i, b_stride);
  }
  if constexpr (kHasLast) add_last_dots<kRows, kColumns>(sums, a + i, a_stride, b + i, b_stride, k - i);
  store_totals<kRows, kColumns>(c, c_stride, lane_sums(sums), bias);
}

#if defined(__AVX512F__)
inline constexpr int kDotRows = 4, kDotColumns = 4, kLoneColumns = 16, kPairColumns = 8;
#else
inline constexpr int kDotRows = 2, kDotColumns = 2, kLoneColumns = 4, kPairColumns = 2;
#endif

// The matrices of one product.
struct DotMatrices {
  float* c;
  int64_t c_stride;
  const uint16_t* a;
  int64_t a_stride;
  const uint16_t* b;
  int64_t b_stride;
  int64_t n, k;
  const float* bias;
};

// kRows rows of A from `row` on with the columns from `column` on, kColumns at once; returns the first that is left.
template <int kRows, int kColumns, bool kFetches, bool kHasLast>
inline int64_t dot_rows(const DotMatrices& of, int64_t row, int64_t column) {
  for (; column + kColumns <= of.n; column += kColumns) {
    dot_tile<kRows, kColumns, kFetches, kHasLast>(of.c + row * of.c_stride + column, of.c_stride,
                                                  of.a + row * of.a_stride, of.a_stride, of.b + column * of.b_stride,
                                                  of.b_stride, of.k, of.bias == nullptr ? nullptr : of.bias + column);
  }
  return column;
}

// Rows of A by the tile: its rows stay in the first-level cache while those of B come from the second, or, for the
// first tile, from memory. Few rows take the widest tiles that leave each sum a register.
template <int kRows, bool kHasLast>
inline void dot_all(const DotMatrices& of, int64_t row, int64_t m) {
  if constexpr (kRows > 0) {
    for (; row + kRows <= m; row += kRows) {
      int64_t column = 0;
      if (row == 0) {
        if constexpr (kRows == 1) column = dot_rows<1, kLoneColumns, true, kHasLast>(of, row, column);
        if constexpr (kRows == 2) column = dot_rows<2, kPairColumns, true, kHasLast>(of, row, column);
        column = dot_rows<kRows, kDotColumns, true, kHasLast>(of, row, column);
      } else {
        column = dot_rows<kRows, kDotColumns, false, kHasLast>(of, row, column);
      }
      dot_rows<kRows, 1, false, kHasLast>(of, row, column);
    }
    dot_all<kRows - 1, kHasLast>(of, row, m);
  }
}

inline void dot_matmul(float* c_MN, int64_t c_stride, const uint16_t* a_MK, int64_t a_stride, const uint16_t* b_NK,
                       int64_t b_stride, int64_t m, int64_t n, int64_t k, const float* bias_N) {
  const DotMatrices of = {c_MN, c_stride, a_MK, a_stride, b_NK, b_stride, n, k, bias_N};
  return k % kPairLanes == 0 ? dot_all<kDotRows, false>(of, 0, m) : dot_all<kDotRows, true>(of, 0, m);
}

// kRows x (kBf16Vectors * 16) elements of C: all of K in registers.
template <int kRows>
inline void multiply_pairs(float* c, int64_t c_stride, const ValueRows& a, const uint16_t* panel, int64_t columns,
                           int64_t k, Start start) {
  Lanes sums[kRows][kBf16Vectors];
  int64_t counts[kBf16Vectors];
  for (int v = 0; v < kBf16Vectors; ++v) {
    const int64_t left = columns - v * kLanes;
    counts[v] = left > kLanes ? kLanes : left < 0 ? 0 : left;
    for (int r = 0; r < kRows; ++r) {
      const bool adds = start == Start::kSelf && counts[v] > 0;
      sums[r][v] = adds ? load_first(c + r * c_stride + v * kLanes, counts[v]) : zeros();
    }
  }
  for (int64_t i = 0; i < k; i += 2) {
    Pairs b[kBf16Vectors];
    for (int v = 0; v < kBf16Vectors; ++v) b[v] = load_pairs(panel + i * kPanelColumns + v * 2 * kLanes);
    for (int r = 0; r < kRows; ++r) {
      const Pairs factor = broadcast_pair(a.data + r * a.stride + i);
      for (int v = 0; v < kBf16Vectors; ++v) sums[r][v] = add_products(sums[r][v], factor, b[v]);
    }
  }
  for (int v = 0; v < kBf16Vectors; ++v) {
    if (counts[v] == 0) break;
    for (int r = 0; r < kRows; ++r) store_first(c + r * c_stride + v * kLanes, sums[r][v], counts[v]);
  }
}

inline void pair_matmul(float* c_MN, int64_t c_stride, const ValueRows& a_MK, const uint16_t* panel, int64_t m,
                        int64_t columns, int64_t k, Start start) {
  constexpr int64_t kWidth = kBf16Vectors * kLanes;
  for_row_groups(m, [&](int64_t row, auto rows) {
    const ValueRows a = {a_MK.data + row * a_MK.stride, a_MK.stride};
    for (int64_t column = 0; column < columns; column += kWidth) {
      multiply_pairs<rows>(c_MN + row * c_stride + column, c_stride, a, panel + column * 2, columns - column, k, start);
    }
  });
}

inline void round_to_bf16(uint16_t* y, const float* x, int64_t n) {
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) store_rounded(y + i, load(x + i));
  for (; i < n; ++i) y[i] = kernels::to_bf16(x[i]);
}

}  // namespace seekrl::kernels::SEEKRL_ISA
