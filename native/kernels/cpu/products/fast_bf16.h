// Products of bf16 in register tiles, by the processor's own instruction where it has one, else as two f32 each.
#pragma once

#include <cstring>
#include <type_traits>

#include "kernels/cpu/lanes.h"
#include "kernels/cpu/products/fast_transpose.h"
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
inline constexpr int kPairRows = 6;

// Calls body(std::integral_constant<int, count>) for a count from 1 to kMost, of rows or vectors.
template <int kMost, class Body>
inline void with_count(int64_t count, const Body& body) {
  if constexpr (kMost > 1) {
    if (count < kMost) return with_count<kMost - 1>(count, body);
  }
  body(std::integral_constant<int, kMost>());
}

// Calls body(first row, constant number of rows) for m rows in groups of at most six that differ by no more than one.
template <class Body>
inline void for_row_groups(int64_t m, const Body& body) {
  for (int64_t left = (m + kPairRows - 1) / kPairRows, row = 0; left > 0; --left) {
    const int64_t rows = (m - row + left - 1) / left;
    with_count<kPairRows>(rows, [&](auto count) { body(row, count); });
    row += rows;
  }
}

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

// A weight that comes from memory is called into the second-level cache this many rows ahead: called into the first it
// would not be there in time.
inline constexpr int64_t kRowsAhead = 16;

inline void call_rows(const ValueRows& rows, int64_t i, int64_t count) {
  for (int64_t r = 0; r < count; ++r) {
    _mm_prefetch(reinterpret_cast<const char*>(rows.data + (kRowsAhead + r) * rows.stride + i), _MM_HINT_T1);
  }
}

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

#if !defined(__AVX512F__)

// Rows of A as f32, so that a factor is one load; so much of them along k stays in the first-level cache with a strip.
inline constexpr int64_t kWidenedDepth = 256;

inline void widen_row(float* to, const uint16_t* from, int64_t count) {
  int64_t i = 0;
  for (; i + kPartLanes <= count; i += kPartLanes) {
    const __m128i bits = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i));
    _mm256_storeu_ps(to + i, _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(bits), 16)));
  }
  for (; i < count; ++i) to[i] = kernels::from_bf16(from[i]);
}

// kRows x 16 elements of C, `count` columns of them: adds the products of `depth` values along k.
template <int kRows>
inline void multiply_strip(float* c, int64_t c_stride, const float* factors, const uint16_t* strip, int64_t pair_stride,
                           int64_t count, int64_t depth, bool is_continued) {
  Part sums[kRows][kLaneParts];
  for (int r = 0; r < kRows; ++r) {
    for (int p = 0; p < kLaneParts; ++p) {
      const float* from = c + r * c_stride + p * kPartLanes;
      sums[r][p] = is_continued ? load_first_part(from, count - p * kPartLanes) : broadcast_part(0);
    }
  }
  const __m256i upper = _mm256_set1_epi32(static_cast<int>(0xffff0000u));
  for (int64_t i = 0; i < depth; i += 2) {
    const __m256i* pairs = reinterpret_cast<const __m256i*>(strip + i / 2 * pair_stride);
    Part odd[kLaneParts], even[kLaneParts];
    for (int p = 0; p < kLaneParts; ++p) {
      const __m256i both = _mm256_loadu_si256(pairs + p);
      odd[p] = {_mm256_castsi256_ps(_mm256_and_si256(both, upper))};
      even[p] = {_mm256_castsi256_ps(_mm256_slli_epi32(both, 16))};
    }
    for (int r = 0; r < kRows; ++r) {
      const float* factor = factors + r * kWidenedDepth + i;
      const Part first = broadcast_part(factor[0]), second = broadcast_part(factor[1]);
      for (int p = 0; p < kLaneParts; ++p) sums[r][p] = fma(first, even[p], fma(second, odd[p], sums[r][p]));
    }
  }
  for (int r = 0; r < kRows; ++r) {
    for (int p = 0; p < kLaneParts; ++p) {
      store_first(c + r * c_stride + p * kPartLanes, sums[r][p], count - p * kPartLanes);
    }
  }
}

inline void pair_matmul(float* c_MN, int64_t c_stride, const ValueRows& a_MK, const Panel& panel, int64_t m,
                        int64_t columns, int64_t k, Start start) {
  alignas(32) float factors[kPairRows * kWidenedDepth];
  for_row_groups(m, [&](int64_t row, auto rows) {
    for (int64_t first = 0; first == 0 || first < k; first += kWidenedDepth) {
      const int64_t depth = k - first < kWidenedDepth ? k - first : kWidenedDepth;
      for (int r = 0; r < rows; ++r) {
        widen_row(factors + r * kWidenedDepth, a_MK.data + (row + r) * a_MK.stride + first, depth);
      }
      for (int64_t column = 0; column < columns; column += kLanes) {
        const uint16_t* strip = panel.data + column / kLanes * panel.strip_stride + first / 2 * panel.pair_stride;
        multiply_strip<rows>(c_MN + row * c_stride + column, c_stride, factors, strip, panel.pair_stride,
                             columns - column < kLanes ? columns - column : kLanes, depth,
                             first > 0 || start == Start::kSelf);
      }
    }
  });
}

#else

// kRows x (kVectors * 16) elements of C, the last vector of `last`: all of K in registers.
template <int kRows, int kVectors>
inline void multiply_pairs(float* c, int64_t c_stride, const ValueRows& a, const Panel& panel, int64_t last, int64_t k,
                           Start start) {
  const auto count = [&](int v) { return v + 1 < kVectors ? kLanes : last; };
  Lanes sums[kRows][kVectors];
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kVectors; ++v) {
      sums[r][v] = start == Start::kSelf ? load_first(c + r * c_stride + v * kLanes, count(v)) : zeros();
    }
  }
  for (int64_t i = 0; i < k; i += 2) {
    // So few columns are bound by reading A.
    if (kVectors <= 2 && i % kPairLanes == 0) call_rows(a, i, kRows);
    Pairs b[kVectors];
    const uint16_t* const pairs = panel.data + i / 2 * panel.pair_stride;
    for (int v = 0; v < kVectors; ++v) b[v] = load_pairs(pairs + v * panel.strip_stride);
    for (int r = 0; r < kRows; ++r) {
      const Pairs factor = broadcast_pair(a.data + r * a.stride + i);
      for (int v = 0; v < kVectors; ++v) sums[r][v] = add_products(sums[r][v], factor, b[v]);
    }
  }
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kVectors; ++v) store_first(c + r * c_stride + v * kLanes, sums[r][v], count(v));
  }
}

inline void pair_matmul(float* c_MN, int64_t c_stride, const ValueRows& a_MK, const Panel& panel, int64_t m,
                        int64_t columns, int64_t k, Start start) {
  constexpr int64_t kWidth = kBf16Vectors * kLanes;
  for_row_groups(m, [&](int64_t row, auto rows) {
    const ValueRows a = {a_MK.data + row * a_MK.stride, a_MK.stride};
    for (int64_t column = 0; column < columns; column += kWidth) {
      const int64_t left = columns - column < kWidth ? columns - column : kWidth;
      const int64_t num_vectors = (left + kLanes - 1) / kLanes;
      Panel part = panel;
      part.data += column / kLanes * panel.strip_stride;
      with_count<kBf16Vectors>(num_vectors, [&](auto vectors) {
        multiply_pairs<rows, vectors>(c_MN + row * c_stride + column, c_stride, a, part,
                                      left - (num_vectors - 1) * kLanes, k, start);
      });
    }
  });
}

#endif

inline void round_to_bf16(uint16_t* y, const float* x, int64_t n) {
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) store_rounded(y + i, load(x + i));
  for (; i < n; ++i) y[i] = kernels::to_bf16(x[i]);
}

}  // namespace seekrl::kernels::SEEKRL_ISA
