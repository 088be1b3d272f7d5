// Tiles of up to four rows by four queries in registers, 64 bytes of each a step.
#include "search/vectors/dots/dots.h"

#if defined(__x86_64__)

#include <immintrin.h>

#include <algorithm>

#include "kernels/isa.h"
#include "search/vectors/dots/kinds_avx512.h"

namespace seekrl::search::avx512 {

namespace {

constexpr int64_t kTile = 4;
constexpr size_t kStep = 64;

// Four sums at once; each is added up in the same order whatever the other three are.
__m128 totals(__m512 a, __m512 b, __m512 c, __m512 d) {
  const __m512 ab = _mm512_add_ps(_mm512_unpacklo_ps(a, b), _mm512_unpackhi_ps(a, b));
  const __m512 cd = _mm512_add_ps(_mm512_unpacklo_ps(c, d), _mm512_unpackhi_ps(c, d));
  const __m512 low = _mm512_shuffle_ps(ab, cd, _MM_SHUFFLE(1, 0, 1, 0));
  const __m512 high = _mm512_shuffle_ps(ab, cd, _MM_SHUFFLE(3, 2, 3, 2));
  const __m512 quarters = _mm512_add_ps(low, high);
  const __m256 halves = _mm256_add_ps(_mm512_castps512_ps256(quarters), _mm512_extractf32x8_ps(quarters, 1));
  return _mm_add_ps(_mm256_castps256_ps128(halves), _mm256_extractf128_ps(halves, 1));
}

__m128i totals(__m512i a, __m512i b, __m512i c, __m512i d) {
  const __m512i ab = _mm512_add_epi32(_mm512_unpacklo_epi32(a, b), _mm512_unpackhi_epi32(a, b));
  const __m512i cd = _mm512_add_epi32(_mm512_unpacklo_epi32(c, d), _mm512_unpackhi_epi32(c, d));
  const __m512i quarters = _mm512_add_epi32(_mm512_unpacklo_epi64(ab, cd), _mm512_unpackhi_epi64(ab, cd));
  const __m256i halves = _mm256_add_epi32(_mm512_castsi512_si256(quarters), _mm512_extracti64x4_epi64(quarters, 1));
  return _mm_add_epi32(_mm256_castsi256_si128(halves), _mm256_extracti128_si256(halves, 1));
}

// The sums live in registers as long as only constants index them and nothing takes their address: a loop that is not
// unrolled, or a lambda that captures them, would store all of them at every step.
template <class Kind, int R, int Q>
void tile(const std::byte* const* rows, const std::byte* const* queries, const int32_t* fixes, size_t num_bytes,
          int64_t stride, float* products) {
  typename Kind::Sum sums[4][4];
#pragma GCC unroll 4
  for (int r = 0; r < 4; ++r) {
#pragma GCC unroll 4
    for (int q = 0; q < 4; ++q) sums[r][q] = Kind::zero();
  }
  for (size_t at = 0; at < num_bytes; at += kStep) {
    const size_t left = num_bytes - at;
    const __mmask64 mask = left >= kStep ? ~__mmask64{0} : (__mmask64{1} << left) - 1;
    __m512i asked[Q];
#pragma GCC unroll 4
    for (int q = 0; q < Q; ++q) asked[q] = _mm512_maskz_loadu_epi8(mask, queries[q] + at);
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) {
      const __m512i part = Kind::ready(_mm512_maskz_loadu_epi8(mask, rows[r] + at));
#pragma GCC unroll 4
      for (int q = 0; q < Q; ++q) sums[r][q] = Kind::add(sums[r][q], part, asked[q]);
    }
  }
  if constexpr (Q == 1) {
    const auto all = totals(sums[0][0], sums[1][0], sums[2][0], sums[3][0]);
    alignas(16) float of_rows[4];
    _mm_store_ps(of_rows, Kind::products(all, _mm_set1_epi32(fixes[0])));
    for (int r = 0; r < R; ++r) products[r * stride] = of_rows[r];
  } else {
    const __m128i fix = _mm_loadu_si128(reinterpret_cast<const __m128i*>(fixes));
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) {
      const auto all = totals(sums[r][0], sums[r][1], sums[r][2], sums[r][3]);
      _mm_mask_storeu_ps(products + r * stride, (1 << Q) - 1, Kind::products(all, fix));
    }
  }
}

template <class Kind, int R>
void rows_tile(const std::byte* const* rows, const std::byte* const* queries, const int32_t* fixes, int64_t num_queries,
               size_t num_bytes, int64_t stride, float* products) {
  switch (num_queries) {
    case 1: return tile<Kind, R, 1>(rows, queries, fixes, num_bytes, stride, products);
    case 2: return tile<Kind, R, 2>(rows, queries, fixes, num_bytes, stride, products);
    case 3: return tile<Kind, R, 3>(rows, queries, fixes, num_bytes, stride, products);
    default: return tile<Kind, R, 4>(rows, queries, fixes, num_bytes, stride, products);
  }
}

template <class Kind>
void dots(const std::byte* const* rows, int64_t num_rows, const std::byte* const* queries, int64_t num_queries,
          int64_t dim, float* products_RQ) {
  const size_t num_bytes = Kind::bytes(dim);
  for (int64_t first = 0; first < num_queries; first += kTile) {
    const int64_t num_asked = std::min(kTile, num_queries - first);
    int32_t fixes[kTile] = {};
    for (int64_t q = 0; q < num_asked; ++q) fixes[q] = Kind::fix(queries[first + q], dim);
    for (int64_t row = 0; row < num_rows; row += kTile) {
      const int64_t num_left = num_rows - row;
      float* products = products_RQ + row * num_queries + first;
      const auto run = [&](auto rows_tile) {
        rows_tile(rows + row, queries + first, fixes, num_asked, num_bytes, num_queries, products);
      };
      if (num_left >= 4)
        run(rows_tile<Kind, 4>);
      else if (num_left == 3)
        run(rows_tile<Kind, 3>);
      else if (num_left == 2)
        run(rows_tile<Kind, 2>);
      else
        run(rows_tile<Kind, 1>);
    }
  }
}

}  // namespace

bool is_supported() {
  return kernels::isa() >= kernels::Isa::kAvx512 && __builtin_cpu_supports("avx512f") &&
         __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
         __builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512bf16") &&
         __builtin_cpu_supports("avx512vpopcntdq");
}

Dots dots_of(Scalar scalar) {
  switch (scalar) {
    case Scalar::kF32: return dots<F32>;
    case Scalar::kBf16: return dots<Bf16>;
    case Scalar::kI8: return dots<I8>;
    case Scalar::kB1: break;
  }
  return dots<B1>;
}

}  // namespace seekrl::search::avx512

#else

namespace seekrl::search::avx512 {

bool is_supported() { return false; }
Dots dots_of(Scalar) { return nullptr; }

}  // namespace seekrl::search::avx512

#endif
