// Each kind of component on AVX-512: how 64 bytes of a row and of a query are accumulated and what the sums mean. For
// the files of that instruction set.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

namespace seekrl::search::avx512 {

// `fix` depends on a query alone; `products` are those of four sums or of sixteen.
struct F32 {
  using Sum = __m512;
  static size_t bytes(int64_t dim) { return static_cast<size_t>(dim) * 4; }
  static Sum zero() { return _mm512_setzero_ps(); }
  static constexpr bool kIsReady = true;
  static __m512i ready(__m512i row) { return row; }
  static Sum add(Sum sum, __m512i row, __m512i query) {
    return _mm512_fmadd_ps(_mm512_castsi512_ps(row), _mm512_castsi512_ps(query), sum);
  }
  static int32_t fix(const std::byte*, int64_t) { return 0; }
  static __m128 products(__m128 sums, __m128i) { return sums; }
  static __m512 products(__m512 sums, __m512i) { return sums; }
};

struct Bf16 : F32 {
  static size_t bytes(int64_t dim) { return static_cast<size_t>(dim) * 2; }
  static Sum add(Sum sum, __m512i row, __m512i query) {
    return _mm512_dpbf16_ps(sum, reinterpret_cast<__m512bh>(row), reinterpret_cast<__m512bh>(query));
  }
};

// The instruction multiplies unsigned with signed: (row + 128) query, and 128 sum(query) is taken off at the end.
struct I8 {
  using Sum = __m512i;
  static size_t bytes(int64_t dim) { return static_cast<size_t>(dim); }
  static Sum zero() { return _mm512_setzero_si512(); }
  static constexpr bool kIsReady = false;
  static __m512i ready(__m512i row) { return _mm512_xor_si512(row, _mm512_set1_epi8(static_cast<char>(0x80))); }
  // GCC 12 moves the sums of the intrinsic to other registers and memory at every step.
  static Sum add(Sum sum, __m512i row, __m512i query) {
    asm("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(row), "v"(query));
    return sum;
  }
  static int32_t fix(const std::byte* query, int64_t dim) {
    int32_t sum = 0;
    for (int64_t i = 0; i < dim; ++i) sum += reinterpret_cast<const int8_t*>(query)[i];
    return 128 * sum;
  }
  static __m128 products(__m128i sums, __m128i fixes) { return _mm_cvtepi32_ps(_mm_sub_epi32(sums, fixes)); }
  static __m512 products(__m512i sums, __m512i fixes) { return _mm512_cvtepi32_ps(_mm512_sub_epi32(sums, fixes)); }
};

// Of `dim` signs so many differ: the others count 1, these -1.
struct B1 {
  using Sum = __m512i;
  static size_t bytes(int64_t dim) { return static_cast<size_t>(dim + 63) / 64 * 8; }
  static Sum zero() { return _mm512_setzero_si512(); }
  static constexpr bool kIsReady = true;
  static __m512i ready(__m512i row) { return row; }
  static Sum add(Sum sum, __m512i row, __m512i query) {
    return _mm512_add_epi32(sum, _mm512_popcnt_epi32(_mm512_xor_si512(row, query)));
  }
  static int32_t fix(const std::byte*, int64_t dim) { return static_cast<int32_t>(dim); }
  static __m128 products(__m128i sums, __m128i fixes) {
    return _mm_cvtepi32_ps(_mm_sub_epi32(fixes, _mm_slli_epi32(sums, 1)));
  }
  static __m512 products(__m512i sums, __m512i fixes) {
    return _mm512_cvtepi32_ps(_mm512_sub_epi32(fixes, _mm512_slli_epi32(sums, 1)));
  }
};

}  // namespace seekrl::search::avx512
