// Tiles of up to four rows by four queries in registers, 64 bytes of each a step.
#include "search/dots.h"

#if defined(__x86_64__)

#include <immintrin.h>

#include <algorithm>

namespace seekrl::search::avx512 {

namespace {

constexpr int64_t kTile = 4;
constexpr size_t kStep = 64;

// Each kind of component: how a step is accumulated and what the sum means. `fix` depends on the query alone.
struct F32 {
  using Sum = __m512;
  static size_t bytes(int64_t dim) { return static_cast<size_t>(dim) * 4; }
  static Sum zero() { return _mm512_setzero_ps(); }
  static __m512i ready(__m512i row) { return row; }
  static Sum add(Sum sum, __m512i row, __m512i query) {
    return _mm512_fmadd_ps(_mm512_castsi512_ps(row), _mm512_castsi512_ps(query), sum);
  }
  static int64_t fix(const std::byte*, int64_t) { return 0; }
  static float total(Sum sum, int64_t) { return _mm512_reduce_add_ps(sum); }
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
  static __m512i ready(__m512i row) { return _mm512_xor_si512(row, _mm512_set1_epi8(static_cast<char>(0x80))); }
  static Sum add(Sum sum, __m512i row, __m512i query) { return _mm512_dpbusd_epi32(sum, row, query); }
  static int64_t fix(const std::byte* query, int64_t dim) {
    int64_t sum = 0;
    for (int64_t i = 0; i < dim; ++i) sum += reinterpret_cast<const int8_t*>(query)[i];
    return 128 * sum;
  }
  static float total(Sum sum, int64_t fix) { return static_cast<float>(_mm512_reduce_add_epi32(sum) - fix); }
};

struct B1 {
  using Sum = __m512i;
  static size_t bytes(int64_t dim) { return static_cast<size_t>(dim + 63) / 64 * 8; }
  static Sum zero() { return _mm512_setzero_si512(); }
  static __m512i ready(__m512i row) { return row; }
  static Sum add(Sum sum, __m512i row, __m512i query) {
    return _mm512_add_epi64(sum, _mm512_popcnt_epi64(_mm512_xor_si512(row, query)));
  }
  static int64_t fix(const std::byte*, int64_t dim) { return dim; }
  static float total(Sum sum, int64_t fix) { return static_cast<float>(fix - 2 * _mm512_reduce_add_epi64(sum)); }
};

template <class Kind, int R, int Q>
void tile(const std::byte* const* rows, const std::byte* const* queries, const int64_t* fixes, size_t num_bytes,
          int64_t stride, float* products) {
  typename Kind::Sum sums[R][Q];
  for (auto& row : sums) std::fill_n(row, Q, Kind::zero());
  for (size_t at = 0; at < num_bytes; at += kStep) {
    const size_t left = num_bytes - at;
    const __mmask64 mask = left >= kStep ? ~__mmask64{0} : (__mmask64{1} << left) - 1;
    __m512i part[R], asked[Q];
    for (int r = 0; r < R; ++r) part[r] = Kind::ready(_mm512_maskz_loadu_epi8(mask, rows[r] + at));
    for (int q = 0; q < Q; ++q) asked[q] = _mm512_maskz_loadu_epi8(mask, queries[q] + at);
    for (int r = 0; r < R; ++r) {
      for (int q = 0; q < Q; ++q) sums[r][q] = Kind::add(sums[r][q], part[r], asked[q]);
    }
  }
  for (int r = 0; r < R; ++r) {
    for (int q = 0; q < Q; ++q) products[r * stride + q] = Kind::total(sums[r][q], fixes[q]);
  }
}

template <class Kind, int R>
void rows_tile(const std::byte* const* rows, const std::byte* const* queries, const int64_t* fixes, int64_t num_queries,
               size_t num_bytes, int64_t stride, float* products) {
  switch (num_queries) {
    case 1: return tile<Kind, R, 1>(rows, queries, fixes, num_bytes, stride, products);
    case 2: return tile<Kind, R, 2>(rows, queries, fixes, num_bytes, stride, products);
    case 3: return tile<Kind, R, 3>(rows, queries, fixes, num_bytes, stride, products);
    default: return tile<Kind, R, 4>(rows, queries, fixes, num_bytes, stride, products);
  }
}

void prefetch(const std::byte* const* rows, int64_t num_rows, size_t num_bytes) {
  for (int64_t r = 0; r < num_rows; ++r) {
    for (size_t at = 0; at < num_bytes; at += kStep) _mm_prefetch(rows[r] + at, _MM_HINT_T0);
  }
}

template <class Kind>
void dots(const std::byte* const* rows, int64_t num_rows, const std::byte* const* queries, int64_t num_queries,
          int64_t dim, float* products_RQ) {
  const size_t num_bytes = Kind::bytes(dim);
  for (int64_t first = 0; first < num_queries; first += kTile) {
    const int64_t num_asked = std::min(kTile, num_queries - first);
    int64_t fixes[kTile] = {};
    for (int64_t q = 0; q < num_asked; ++q) fixes[q] = Kind::fix(queries[first + q], dim);
    if (first == 0) prefetch(rows, std::min(kTile, num_rows), num_bytes);
    for (int64_t row = 0; row < num_rows; row += kTile) {
      const int64_t num_left = num_rows - row;
      if (first == 0 && num_left > kTile) prefetch(rows + row + kTile, std::min(kTile, num_left - kTile), num_bytes);
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
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vnni") &&
         __builtin_cpu_supports("avx512bf16") && __builtin_cpu_supports("avx512vpopcntdq");
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
