// Sixteen floats that move together: one AVX-512 register or two of AVX2. Included only by the files of one
// instruction set, each in its own namespace.
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "kernels/cpu/exp.h"

#if !defined(SEEKRL_ISA)
#error "include this from avx2.cpp or avx512.cpp"
#endif

namespace seekrl::kernels::SEEKRL_ISA {

inline constexpr int64_t kLanes = 16;

#if defined(__AVX512F__)

// A tile of the matrix product: 6 x 4 accumulators, 4 columns of B and a broadcast use 29 of 32 registers.
inline constexpr int kTileVectors = 4;

struct Lanes {
  __m512 all;
};

// What moves together, in the registers that it takes: GCC keeps an array of structures of several registers in memory.
using Part = Lanes;
inline constexpr int kLaneParts = 1;

inline __mmask16 first_lanes(int64_t count) { return static_cast<__mmask16>((1u << count) - 1); }

inline Lanes broadcast(float x) { return {_mm512_set1_ps(x)}; }
inline Lanes load(const float* from) { return {_mm512_loadu_ps(from)}; }
inline Lanes load_first(const float* from, int64_t count) { return {_mm512_maskz_loadu_ps(first_lanes(count), from)}; }
inline Part broadcast_part(float x) { return broadcast(x); }
inline Part load_part(const float* from) { return load(from); }
inline Part load_first_part(const float* from, int64_t count) { return load_first(from, count); }
inline void store(float* to, Lanes x) { _mm512_storeu_ps(to, x.all); }
inline void store_first(float* to, Lanes x, int64_t count) { _mm512_mask_storeu_ps(to, first_lanes(count), x.all); }
inline Lanes operator+(Lanes a, Lanes b) { return {_mm512_add_ps(a.all, b.all)}; }
inline Lanes operator-(Lanes a, Lanes b) { return {_mm512_sub_ps(a.all, b.all)}; }
inline Lanes operator*(Lanes a, Lanes b) { return {_mm512_mul_ps(a.all, b.all)}; }
inline Lanes operator/(Lanes a, Lanes b) { return {_mm512_div_ps(a.all, b.all)}; }
// a b + c, rounded once.
inline Lanes fma(Lanes a, Lanes b, Lanes c) { return {_mm512_fmadd_ps(a.all, b.all, c.all)}; }
// The second where either is not a number, as the instruction has it.
inline Lanes max(Lanes a, Lanes b) { return {_mm512_max_ps(a.all, b.all)}; }
inline Lanes min(Lanes a, Lanes b) { return {_mm512_min_ps(a.all, b.all)}; }
inline Lanes square_root(Lanes x) { return {_mm512_sqrt_ps(x.all)}; }
inline Lanes nearest_integer(Lanes x) {
  return {_mm512_roundscale_ps(x.all, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)};
}
// 2^x of whole x in [-126, 127].
inline Lanes power_of_two(Lanes x) {
  const __m512i exponent = _mm512_add_epi32(_mm512_cvtps_epi32(x.all), _mm512_set1_epi32(127));
  return {_mm512_castsi512_ps(_mm512_slli_epi32(exponent, 23))};
}
// x where `of` is not below `bound`, zero elsewhere.
inline Lanes zero_below(Lanes x, Lanes of, Lanes bound) {
  return {_mm512_maskz_mov_ps(_mm512_cmp_ps_mask(of.all, bound.all, _CMP_NLT_UQ), x.all)};
}
// The first `count` lanes of x, zero behind.
inline Lanes keep_first(Lanes x, int64_t count) { return {_mm512_maskz_mov_ps(first_lanes(count), x.all)}; }
// Stores the lanes in [low, high) side by side, 16 floats in all; returns how many they are.
inline int64_t keep_between(float* to, Lanes x, float low, float high) {
  const __mmask16 kept = _mm512_cmp_ps_mask(x.all, _mm512_set1_ps(low), _CMP_GE_OQ) &
                         _mm512_cmp_ps_mask(x.all, _mm512_set1_ps(high), _CMP_LT_OQ);
  _mm512_storeu_ps(to, _mm512_maskz_compress_ps(kept, x.all));
  return __builtin_popcount(kept);
}

#else

// 6 x 2 registers of accumulators, 2 of B and a broadcast use 15 of 16.
inline constexpr int kTileVectors = 1;

struct Lanes {
  __m256 low, high;
};

struct Part {
  __m256 all;
};
inline constexpr int kLaneParts = 2;

inline __m256i first_lanes(int64_t count) {
  const __m256i order = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(count)), order);
}

inline Lanes broadcast(float x) { return {_mm256_set1_ps(x), _mm256_set1_ps(x)}; }
inline Lanes load(const float* from) { return {_mm256_loadu_ps(from), _mm256_loadu_ps(from + 8)}; }
inline Lanes load_first(const float* from, int64_t count) {
  if (count == kLanes) return load(from);
  return {_mm256_maskload_ps(from, first_lanes(count)), _mm256_maskload_ps(from + 8, first_lanes(count - 8))};
}
inline Part broadcast_part(float x) { return {_mm256_set1_ps(x)}; }
inline Part load_part(const float* from) { return {_mm256_loadu_ps(from)}; }
inline Part load_first_part(const float* from, int64_t count) {
  if (count >= 8) return load_part(from);
  return {_mm256_maskload_ps(from, first_lanes(count))};
}
inline void store(float* to, Part x) { _mm256_storeu_ps(to, x.all); }
inline void store_first(float* to, Part x, int64_t count) {
  if (count >= 8) return store(to, x);
  _mm256_maskstore_ps(to, first_lanes(count), x.all);
}
inline Part operator+(Part a, Part b) { return {_mm256_add_ps(a.all, b.all)}; }
inline Part operator*(Part a, Part b) { return {_mm256_mul_ps(a.all, b.all)}; }
inline Part fma(Part a, Part b, Part c) { return {_mm256_fmadd_ps(a.all, b.all, c.all)}; }
inline void store(float* to, Lanes x) {
  _mm256_storeu_ps(to, x.low);
  _mm256_storeu_ps(to + 8, x.high);
}
inline void store_first(float* to, Lanes x, int64_t count) {
  if (count == kLanes) return store(to, x);
  _mm256_maskstore_ps(to, first_lanes(count), x.low);
  _mm256_maskstore_ps(to + 8, first_lanes(count - 8), x.high);
}
inline Lanes operator+(Lanes a, Lanes b) { return {_mm256_add_ps(a.low, b.low), _mm256_add_ps(a.high, b.high)}; }
inline Lanes operator-(Lanes a, Lanes b) { return {_mm256_sub_ps(a.low, b.low), _mm256_sub_ps(a.high, b.high)}; }
inline Lanes operator*(Lanes a, Lanes b) { return {_mm256_mul_ps(a.low, b.low), _mm256_mul_ps(a.high, b.high)}; }
inline Lanes operator/(Lanes a, Lanes b) { return {_mm256_div_ps(a.low, b.low), _mm256_div_ps(a.high, b.high)}; }
inline Lanes fma(Lanes a, Lanes b, Lanes c) {
  return {_mm256_fmadd_ps(a.low, b.low, c.low), _mm256_fmadd_ps(a.high, b.high, c.high)};
}
inline Lanes max(Lanes a, Lanes b) { return {_mm256_max_ps(a.low, b.low), _mm256_max_ps(a.high, b.high)}; }
inline Lanes min(Lanes a, Lanes b) { return {_mm256_min_ps(a.low, b.low), _mm256_min_ps(a.high, b.high)}; }
inline Lanes square_root(Lanes x) { return {_mm256_sqrt_ps(x.low), _mm256_sqrt_ps(x.high)}; }
inline Lanes nearest_integer(Lanes x) {
  constexpr int kRounding = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
  return {_mm256_round_ps(x.low, kRounding), _mm256_round_ps(x.high, kRounding)};
}
inline __m256 power_of_two(__m256 x) {
  const __m256i exponent = _mm256_add_epi32(_mm256_cvtps_epi32(x), _mm256_set1_epi32(127));
  return _mm256_castsi256_ps(_mm256_slli_epi32(exponent, 23));
}
inline Lanes power_of_two(Lanes x) { return {power_of_two(x.low), power_of_two(x.high)}; }
inline Lanes zero_below(Lanes x, Lanes of, Lanes bound) {
  return {_mm256_and_ps(x.low, _mm256_cmp_ps(of.low, bound.low, _CMP_NLT_UQ)),
          _mm256_and_ps(x.high, _mm256_cmp_ps(of.high, bound.high, _CMP_NLT_UQ))};
}
inline Lanes keep_first(Lanes x, int64_t count) {
  return {_mm256_and_ps(x.low, _mm256_castsi256_ps(first_lanes(count))),
          _mm256_and_ps(x.high, _mm256_castsi256_ps(first_lanes(count - 8)))};
}
inline unsigned lanes_between(__m256 x, float low, float high) {
  const __m256 is_kept = _mm256_and_ps(_mm256_cmp_ps(x, _mm256_set1_ps(low), _CMP_GE_OQ),
                                       _mm256_cmp_ps(x, _mm256_set1_ps(high), _CMP_LT_OQ));
  return static_cast<unsigned>(_mm256_movemask_ps(is_kept));
}
inline int64_t keep_between(float* to, Lanes x, float low, float high) {
  const unsigned kept = lanes_between(x.low, low, high) | lanes_between(x.high, low, high) << 8;
  if (kept == 0) return 0;
  float lanes[kLanes];
  store(lanes, x);
  int64_t num_kept = 0;
  for (int lane = 0; lane < kLanes; ++lane) {
    to[num_kept] = lanes[lane];
    num_kept += kept >> lane & 1;
  }
  return num_kept;
}

#endif

inline constexpr int64_t kPartLanes = kLanes / kLaneParts;

inline Lanes zeros() { return broadcast(0); }
inline Lanes operator-(Lanes x) { return broadcast(-0.0f) - x; }

// The tree every sum over lanes uses.
inline float sum_lanes(Lanes x) {
  float lanes[kLanes];
  store(lanes, x);
  for (int width = 8; width > 0; width /= 2) {
    for (int lane = 0; lane < width; ++lane) lanes[lane] += lanes[lane + width];
  }
  return lanes[0];
}

inline float max_lanes(Lanes x) {
  float lanes[kLanes];
  store(lanes, x);
  float largest = lanes[0];
  for (const float lane : lanes) largest = lane > largest ? lane : largest;
  return largest;
}

// exp_f32 of each lane.
inline Lanes exp_lanes(Lanes x) {
  const Lanes bounded = min(broadcast(kExpHighest), x);
  const Lanes clamped = max(broadcast(kExpLowest), bounded);
  const Lanes power = nearest_integer(clamped * broadcast(kLog2E));
  const Lanes rest = fma(power, broadcast(kMinusLn2Low), fma(power, broadcast(kMinusLn2High), clamped));
  Lanes sum = broadcast(kExpPolynomial[0]);
  for (int i = 1; i < 6; ++i) sum = fma(sum, rest, broadcast(kExpPolynomial[i]));
  const Lanes fraction = fma(sum, rest * rest, rest) + broadcast(1.0f);
  return zero_below(fraction * power_of_two(power), x, broadcast(kExpLowest));
}

// tanh_f32 of each lane.
inline Lanes tanh_lanes(Lanes x) {
  const Lanes size = max(x, -x), bound = broadcast(kTanhSmall), bounded = min(bound, size), square = bounded * bounded;
  const Lanes large = broadcast(1.0f) - broadcast(2.0f) / (exp_lanes(size * broadcast(2.0f)) + broadcast(1.0f));
  Lanes sum = broadcast(kTanhPolynomial[0]);
  for (int i = 1; i < 5; ++i) sum = fma(sum, square, broadcast(kTanhPolynomial[i]));
  const Lanes small = fma(sum * square, bounded, bounded);
  // One of the two, the other being zero.
  const Lanes chosen = zero_below(large, size, bound) + (small - zero_below(small, size, bound));
  const Lanes sign = zero_below(broadcast(2.0f), x, zeros()) - broadcast(1.0f);
  return chosen * sign;
}

}  // namespace seekrl::kernels::SEEKRL_ISA
