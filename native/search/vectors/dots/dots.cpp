// Chooses the kernels; NumKong's take one pair of vectors at a time.
#include "search/vectors/dots/dots.h"

#include <numkong/numkong.h>

namespace seekrl::search {

namespace {

float product(const nk_f32_t* a, const nk_f32_t* b, size_t dim) {
  nk_f64_t sum;
  nk_dot_f32(a, b, dim, &sum);
  return static_cast<float>(sum);
}

float product(const nk_bf16_t* a, const nk_bf16_t* b, size_t dim) {
  nk_f32_t sum;
  nk_dot_bf16(a, b, dim, &sum);
  return sum;
}

float product(const nk_i8_t* a, const nk_i8_t* b, size_t dim) {
  nk_i32_t sum;
  nk_dot_i8(a, b, dim, &sum);
  return static_cast<float>(sum);
}

float product(const nk_u1x8_t* a, const nk_u1x8_t* b, size_t dim) {
  nk_u32_t num_different;
  nk_hamming_u1(a, b, (dim + 63) / 64 * 64, &num_different);
  return static_cast<float>(static_cast<int64_t>(dim) - 2 * static_cast<int64_t>(num_different));
}

template <class Stored>
void dots(const std::byte* const* rows, int64_t num_rows, const std::byte* const* queries, int64_t num_queries,
          int64_t dim, float* products_RQ) {
  for (int64_t r = 0; r < num_rows; ++r) {
    for (int64_t q = 0; q < num_queries; ++q) {
      products_RQ[r * num_queries + q] = product(reinterpret_cast<const Stored*>(rows[r]),
                                                 reinterpret_cast<const Stored*>(queries[q]), static_cast<size_t>(dim));
    }
  }
}

}  // namespace

Dots pairs::dots_of(Scalar scalar) {
  nk_capabilities();  // fills NumKong's table of kernels
  switch (scalar) {
    case Scalar::kF32: return dots<nk_f32_t>;
    case Scalar::kBf16: return dots<nk_bf16_t>;
    case Scalar::kI8: return dots<nk_i8_t>;
    case Scalar::kB1: break;
  }
  return dots<nk_u1x8_t>;
}

Dots dots_of(Scalar scalar) { return avx512::is_supported() ? avx512::dots_of(scalar) : pairs::dots_of(scalar); }

}  // namespace seekrl::search
