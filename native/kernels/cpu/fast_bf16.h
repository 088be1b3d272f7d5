// Products of bf16 in register tiles, by the processor's own instruction where it has one, else as two f32 each.
#pragma once

#include <cstring>

#include "kernels/cpu/lanes.h"
#include "kernels/packed.h"

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
inline void round_lanes(uint16_t* to, const float* from) {
  const __m256bh rounded = _mm512_cvtneps_pbh(_mm512_loadu_ps(from));
  std::memcpy(to, &rounded, sizeof(rounded));
}

inline constexpr int kBf16Vectors = 4;

#else

struct Pairs {
  Lanes even, odd;
};

#if defined(__AVX512F__)
inline Pairs widen(__m512i pairs) {
  return {{_mm512_castsi512_ps(_mm512_slli_epi32(pairs, 16))},
          {_mm512_castsi512_ps(_mm512_and_si512(pairs, _mm512_set1_epi32(static_cast<int>(0xffff0000u))))}};
}
inline Pairs load_pairs(const uint16_t* from) { return widen(_mm512_loadu_si512(from)); }
inline Pairs broadcast_pair(const uint16_t* from) {
  int32_t pair;
  std::memcpy(&pair, from, sizeof(pair));
  return widen(_mm512_set1_epi32(pair));
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
inline constexpr int kBf16Vectors = 1;
#endif

inline Lanes add_products(Lanes sum, Pairs a, Pairs b) { return fma(a.even, b.even, fma(a.odd, b.odd, sum)); }
inline void round_lanes(uint16_t* to, const float* from) {
  for (int64_t i = 0; i < kLanes; ++i) to[i] = kernels::to_bf16(from[i]);
}

#endif

// kRows x (kBf16Vectors * 16) elements of C: all of K in registers.
template <int kRows>
inline void multiply_pairs(float* c, int64_t c_stride, const uint16_t* a, int64_t a_stride, const uint16_t* panel,
                           int64_t columns, int64_t k, const float* bias) {
  Lanes sums[kRows][kBf16Vectors];
  int64_t counts[kBf16Vectors];
  for (int v = 0; v < kBf16Vectors; ++v) {
    const int64_t left = columns - v * kLanes;
    counts[v] = left > kLanes ? kLanes : left < 0 ? 0 : left;
    const Lanes start = bias == nullptr || counts[v] == 0 ? zeros() : load_first(bias + v * kLanes, counts[v]);
    for (int r = 0; r < kRows; ++r) sums[r][v] = start;
  }
  for (int64_t i = 0; i < k; i += 2) {
    Pairs b[kBf16Vectors];
    for (int v = 0; v < kBf16Vectors; ++v) b[v] = load_pairs(panel + i * kPackedColumns + v * 2 * kLanes);
    for (int r = 0; r < kRows; ++r) {
      const Pairs factor = broadcast_pair(a + r * a_stride + i);
      for (int v = 0; v < kBf16Vectors; ++v) sums[r][v] = add_products(sums[r][v], factor, b[v]);
    }
  }
  for (int v = 0; v < kBf16Vectors; ++v) {
    if (counts[v] == 0) break;
    for (int r = 0; r < kRows; ++r) store_first(c + r * c_stride + v * kLanes, sums[r][v], counts[v]);
  }
}

inline void packed_matmul_bf16(float* c_MN, int64_t c_stride, const uint16_t* a_MK, int64_t a_stride,
                               const uint16_t* panel, int64_t m, int64_t columns, int64_t k, const float* bias_N) {
  constexpr int64_t kWidth = kBf16Vectors * kLanes;
  for (int64_t row = 0; row < m;) {
    const int64_t rows = m - row < 6 ? m - row : 6;
    const uint16_t* a = a_MK + row * a_stride;
    for (int64_t column = 0; column < columns; column += kWidth) {
      float* c = c_MN + row * c_stride + column;
      const uint16_t* b = panel + column * 2;
      const float* bias = bias_N == nullptr ? nullptr : bias_N + column;
      const int64_t count = columns - column;
      switch (rows) {
        case 1: multiply_pairs<1>(c, c_stride, a, a_stride, b, count, k, bias); break;
        case 2: multiply_pairs<2>(c, c_stride, a, a_stride, b, count, k, bias); break;
        case 3: multiply_pairs<3>(c, c_stride, a, a_stride, b, count, k, bias); break;
        case 4: multiply_pairs<4>(c, c_stride, a, a_stride, b, count, k, bias); break;
        case 5: multiply_pairs<5>(c, c_stride, a, a_stride, b, count, k, bias); break;
        default: multiply_pairs<6>(c, c_stride, a, a_stride, b, count, k, bias); break;
      }
    }
    row += rows;
  }
}

inline void round_to_bf16(uint16_t* y, const float* x, int64_t n) {
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) round_lanes(y + i, x + i);
  for (; i < n; ++i) y[i] = kernels::to_bf16(x[i]);
}

}  // namespace seekrl::kernels::SEEKRL_ISA
