// Products of bf16 in register tiles, by the processor's own instruction where it has one, else as two f32 each.
#pragma once

#include <cstring>
#include <type_traits>

#include "kernels/cpu/lanes.h"
#include "kernels/cpu/products/fast_matmul.h"
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

// A weight that comes from memory is called into the second-level cache this many rows ahead: called into the first it
// would not be there in time.
inline constexpr int64_t kRowsAhead = 16;

inline void call_rows(const ValueRows& rows, int64_t i, int64_t count) {
  for (int64_t r = 0; r < count; ++r) {
    _mm_prefetch(reinterpret_cast<const char*>(rows.data + (kRowsAhead + r) * rows.stride + i), _MM_HINT_T1);
  }
}

#if !defined(__AVX512F__)

// A panel and rows of A become f32 so deep at a time, and are multiplied as those of f32 are: 24 KB of the panel, which
// stay in the first-level cache beside A and C.
inline constexpr int64_t kWidenedDepth = 96;

// Both values of each pair, the odd one first, as its product is added first.
inline void widen_row(float* to, const uint16_t* from, int64_t count) {
  int64_t i = 0;
  for (; i + kPartLanes <= count; i += kPartLanes) {
    const __m128i pairs = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i));
    const __m128i swapped = _mm_or_si128(_mm_slli_epi32(pairs, 16), _mm_srli_epi32(pairs, 16));
    _mm256_storeu_ps(to + i, _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(swapped), 16)));
  }
  for (; i < count; ++i) to[i] = kernels::from_bf16(from[i ^ 1]);
}

// 16 columns, a row of them for each value along k.
inline void widen_strip(float* to, const uint16_t* strip, int64_t pair_stride, int64_t depth) {
  const __m256i upper = _mm256_set1_epi32(static_cast<int>(0xffff0000u));
  for (int64_t i = 0; i < depth; i += 2) {
    for (int p = 0; p < kLaneParts; ++p) {
      const __m256i* pairs = reinterpret_cast<const __m256i*>(strip + i / 2 * pair_stride) + p;
      const __m256i both = _mm256_loadu_si256(pairs);
      float* part = to + i * kLanes + p * kPartLanes;
      _mm256_storeu_ps(part, _mm256_castsi256_ps(_mm256_and_si256(both, upper)));
      _mm256_storeu_ps(part + kLanes, _mm256_castsi256_ps(_mm256_slli_epi32(both, 16)));
    }
  }
}

inline void pair_matmul(float* c_MN, int64_t c_stride, const ValueRows& a_MK, const Panel& panel, int64_t m,
                        int64_t columns, int64_t k, Start start) {
  alignas(64) float values[kWidenedDepth * kPanelColumns];
  alignas(64) float factors[kPairRows * kWidenedDepth];
  for (int64_t first = 0; first == 0 || first < k; first += kWidenedDepth) {
    const int64_t depth = k - first < kWidenedDepth ? k - first : kWidenedDepth;
    const bool is_continued = first > 0 || start == Start::kSelf;
    for (int64_t column = 0; column < columns; column += kLanes) {
      const uint16_t* strip = panel.data + column / kLanes * panel.strip_stride + first / 2 * panel.pair_stride;
      widen_strip(values + column * kWidenedDepth, strip, panel.pair_stride, depth);
    }
    for_row_groups(m, [&](int64_t row, auto rows) {
      for (int r = 0; r < rows; ++r) {
        widen_row(factors + r * kWidenedDepth, a_MK.data + (row + r) * a_MK.stride + first, depth);
      }
      for (int64_t column = 0; column < columns; column += kLanes) {
        float* c = c_MN + row * c_stride + column;
        const int64_t count = columns - column < kLanes ? columns - column : kLanes;
        const Tile tile = {c,
                           c_stride,
                           is_continued ? c : nullptr,
                           c_stride,
                           factors,
                           kWidenedDepth,
                           1,
                           values + column * kWidenedDepth,
                           kLanes,
                           depth,
                           count};
        multiply_vectors(tile, rows, 1);
      }
    });
  }
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
