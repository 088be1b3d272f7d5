// What the products of quantised weights need of an instruction set: groups of codes, their dot products, look-ups.
#pragma once

#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/cpu/lanes.h"
#include "kernels/products/quant.h"

namespace seekrl::kernels::SEEKRL_ISA {

inline int32_t group_of(const int8_t* values) {
  int32_t group;
  std::memcpy(&group, values, sizeof(group));
  return group;
}

#if defined(__AVX512F__)

// One register of codes, of values or of sums.
struct Ints {
  __m512i all;
};

// 6 x 2 sums, 6 x 2 chains and 4 groups of codes use 28 of 32 registers; two groups of nibbles share their bytes.
inline constexpr int64_t kQuantTileRows = 6;
inline constexpr int64_t kQuantTilePanels = 2;
inline constexpr int kGroupsAtOnce = 2;

inline Ints broadcast_group(const int8_t* values) { return {_mm512_set1_epi32(group_of(values))}; }

// Codes are multiplied as they stand, without a sign: what their offset adds is taken away first.
template <CodeForm kForm>
inline Ints first_sum(int32_t sum_of_values) {
  constexpr int kOffset = kForm == CodeForm::kNibble ? 8 : 128;
  return {_mm512_set1_epi32(-kOffset * sum_of_values)};
}
template <CodeForm kForm>
inline Part block_sum(Ints sum, int32_t /*sum_of_values*/) {
  return {_mm512_cvtepi32_ps(sum.all)};
}

// Four codes of each of a part's outputs: group `group` of a block.
template <CodeForm kForm>
inline Ints load_group(const uint8_t* block, int group, int /*part*/) {
  if constexpr (kForm == CodeForm::kByte) return {_mm512_loadu_si512(block + 64 * group)};
  const __m512i both = _mm512_loadu_si512(block + 64 * (group / 2));
  return {_mm512_and_si512(group % 2 == 0 ? both : _mm512_srli_epi16(both, 4), _mm512_set1_epi8(15))};
}

template <CodeForm kForm>
inline Ints add_dots(Ints sum, Ints codes, Ints values) {
  return {_mm512_dpbusd_epi32(sum.all, codes.all, values.all)};
}

inline Part load_f16_part(const uint16_t* from) {
  return {_mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)))};
}
inline Lanes load_bytes(const uint8_t* from) {
  return {_mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from))))};
}
// Rounded to the nearest, ties to even; numbers only.
inline void store_bf16(uint16_t* to, Lanes x) {
  const __m512i bits = _mm512_castps_si512(x.all);
  const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
  const __m512i rounded = _mm512_add_epi32(_mm512_add_epi32(bits, _mm512_set1_epi32(0x7fff)), odd);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm512_cvtepi32_epi16(_mm512_srli_epi32(rounded, 16)));
}

// A block of activations as reference::quant_row has it.
inline void quant_block(int8_t* values, float* scale, int32_t* sum, const float* x) {
  const __m512 first = _mm512_loadu_ps(x), second = _mm512_loadu_ps(x + 16);
  const __m512i sizes = _mm512_set1_epi32(0x7fffffff);
  const __m512i most = _mm512_max_epu32(_mm512_and_si512(_mm512_castps_si512(first), sizes),
                                        _mm512_and_si512(_mm512_castps_si512(second), sizes));
  const uint32_t bits = _mm512_reduce_max_epu32(most);
  float absmax;
  std::memcpy(&absmax, &bits, sizeof(absmax));
  const bool is_finite = bits < 0x7f800000u, is_kept = is_finite && absmax > kLeastQuant;
  *scale = is_kept ? absmax / 127.0f : is_finite ? 0.0f : std::numeric_limits<float>::quiet_NaN();
  const __m512 inverse = _mm512_set1_ps(is_kept ? 127.0f / absmax : 0.0f);
  const __mmask16 kept = is_kept ? 0xffff : 0;
  const __m512i low = _mm512_maskz_cvtps_epi32(kept, _mm512_mul_ps(first, inverse));
  const __m512i high = _mm512_maskz_cvtps_epi32(kept, _mm512_mul_ps(second, inverse));
  *sum = _mm512_reduce_add_epi32(_mm512_add_epi32(low, high));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(values), _mm512_cvtepi32_epi8(low));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(values + 16), _mm512_cvtepi32_epi8(high));
}

// The 32 codes of one lane of a block, in order.
inline void gather_codes(uint8_t* codes, const uint8_t* from, bool are_nibbles) {
  if (!are_nibbles) {
    const __m256i places = _mm256_setr_epi32(0, 64, 128, 192, 256, 320, 384, 448);
    _mm256_store_si256(reinterpret_cast<__m256i*>(codes),
                       _mm256_i32gather_epi32(reinterpret_cast<const int*>(from), places, 1));
    return;
  }
  const __m128i both = _mm_i32gather_epi32(reinterpret_cast<const int*>(from), _mm_setr_epi32(0, 64, 128, 192), 1);
  const __m128i mask = _mm_set1_epi8(15);
  const __m128i low = _mm_and_si128(both, mask), high = _mm_and_si128(_mm_srli_epi16(both, 4), mask);
  _mm_store_si128(reinterpret_cast<__m128i*>(codes), _mm_unpacklo_epi32(low, high));
  _mm_store_si128(reinterpret_cast<__m128i*>(codes + 16), _mm_unpackhi_epi32(low, high));
}

// The table's entries for the 64 nibbles of a block of NF4.
inline void look_up_block(uint16_t* to, const uint8_t* codes, const uint16_t* table) {
  // An index counts by its low five bits, of which the fifth may be another nibble's: the table stands there twice.
  const __m512i entries = _mm512_broadcast_i64x4(_mm256_load_si256(reinterpret_cast<const __m256i*>(table)));
  for (int i = 0; i < 2; ++i) {
    const __m512i bytes = _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(codes + 16 * i)));
    const __m512i places = _mm512_or_si512(_mm512_srli_epi32(bytes, 4), _mm512_slli_epi32(bytes, 16));
    _mm512_storeu_si512(to + 32 * i, _mm512_permutexvar_epi16(places, entries));
  }
}

#else

struct Ints {
  __m256i all;
};

// 4 x 2 sums leave room for codes, values and what becomes of them.
inline constexpr int64_t kQuantTileRows = 4;
inline constexpr int64_t kQuantTilePanels = 1;
inline constexpr int kGroupsAtOnce = 1;

inline Ints broadcast_group(const int8_t* values) { return {_mm256_set1_epi32(group_of(values))}; }

template <CodeForm kForm>
inline Ints first_sum(int32_t /*sum_of_values*/) {
  return {_mm256_setzero_si256()};
}

// Bytes get their sign here.
template <CodeForm kForm>
inline Ints load_group(const uint8_t* block, int group, int part) {
  constexpr bool kIsByte = kForm == CodeForm::kByte;
  const uint8_t* from = block + 64 * (kIsByte ? group : group / 2) + 32 * part;
  const __m256i codes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
  if constexpr (kIsByte) return {_mm256_xor_si256(codes, _mm256_set1_epi8(-128))};
  return {_mm256_and_si256(group % 2 == 0 ? codes : _mm256_srli_epi16(codes, 4), _mm256_set1_epi8(15))};
}

inline __m256i add_pairs(__m256i pairs) { return _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)); }

// Of bytes |code| times the value with the code's sign: a pair's sum is at most 2 128 127, which 16 bits hold. Of
// nibbles 16 bits hold the pairs of a whole block, 8 groups of 2 15 127.
template <CodeForm kForm>
inline Ints add_dots(Ints sum, Ints codes, Ints values) {
  if constexpr (kForm == CodeForm::kNibble) {
    return {_mm256_add_epi16(sum.all, _mm256_maddubs_epi16(codes.all, values.all))};
  }
  const __m256i signs = _mm256_sign_epi8(values.all, codes.all);
  return {_mm256_add_epi32(sum.all, add_pairs(_mm256_maddubs_epi16(_mm256_abs_epi8(codes.all), signs)))};
}

// What the offset of nibbles has added is taken away.
template <CodeForm kForm>
inline Part block_sum(Ints sum, int32_t sum_of_values) {
  if constexpr (kForm == CodeForm::kNibble) {
    sum.all = _mm256_sub_epi32(add_pairs(sum.all), _mm256_set1_epi32(8 * sum_of_values));
  }
  return {_mm256_cvtepi32_ps(sum.all)};
}

inline Part load_f16_part(const uint16_t* from) {
  return {_mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)))};
}
inline Lanes load_bytes(const uint8_t* from) {
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
  return {_mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(bytes)),
          _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_srli_si128(bytes, 8)))};
}
inline __m256i rounded_bits(__m256 x) {
  const __m256i bits = _mm256_castps_si256(x);
  const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
  return _mm256_srli_epi32(_mm256_add_epi32(_mm256_add_epi32(bits, _mm256_set1_epi32(0x7fff)), odd), 16);
}
inline void store_bf16(uint16_t* to, Lanes x) {
  const __m256i both = _mm256_packus_epi32(rounded_bits(x.low), rounded_bits(x.high));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm256_permute4x64_epi64(both, 0xd8));
}

inline void quant_block(int8_t* values, float* scale, int32_t* sum, const float* x) {
  const __m256i sizes = _mm256_set1_epi32(0x7fffffff);
  __m256i most = _mm256_setzero_si256();
  for (int i = 0; i < 32; i += 8) {
    most = _mm256_max_epu32(most, _mm256_and_si256(_mm256_castps_si256(_mm256_loadu_ps(x + i)), sizes));
  }
  alignas(32) uint32_t lanes[8];
  _mm256_store_si256(reinterpret_cast<__m256i*>(lanes), most);
  uint32_t bits = 0;
  for (const uint32_t lane : lanes) bits = lane > bits ? lane : bits;
  float absmax;
  std::memcpy(&absmax, &bits, sizeof(absmax));
  const bool is_finite = bits < 0x7f800000u, is_kept = is_finite && absmax > kLeastQuant;
  *scale = is_kept ? absmax / 127.0f : is_finite ? 0.0f : std::numeric_limits<float>::quiet_NaN();
  const __m256 inverse = _mm256_set1_ps(is_kept ? 127.0f / absmax : 0.0f);
  alignas(32) int32_t rounded[32] = {};
  for (int i = 0; is_kept && i < 32; i += 8) {
    const __m256i part = _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_loadu_ps(x + i), inverse));
    _mm256_store_si256(reinterpret_cast<__m256i*>(rounded + i), part);
  }
  *sum = 0;
  for (int i = 0; i < 32; ++i) {
    values[i] = static_cast<int8_t>(rounded[i]);
    *sum += rounded[i];
  }
}

inline void gather_codes(uint8_t* codes, const uint8_t* from, bool are_nibbles) {
  for (int64_t group = 0; group < 8; ++group) {
    uint32_t four;
    std::memcpy(&four, from + (are_nibbles ? group / 2 : group) * 64, sizeof(four));
    if (are_nibbles) four = (group % 2 == 0 ? four : four >> 4) & 0x0f0f0f0fu;
    std::memcpy(codes + 4 * group, &four, sizeof(four));
  }
}

inline void look_up_block(uint16_t* to, const uint8_t* codes, const uint16_t* table) {
  for (int64_t i = 0; i < kNf4Block / 2; ++i) {
    to[2 * i] = table[codes[i] >> 4];
    to[2 * i + 1] = table[codes[i] & 15];
  }
}

#endif

}  // namespace seekrl::kernels::SEEKRL_ISA
