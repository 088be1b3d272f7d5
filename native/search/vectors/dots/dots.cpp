// Chooses the kernels; NumKong's take one pair of vectors at a time.
#include "search/vectors/dots/dots.h"

#include "kernels/isa.h"
#include "search/vectors/dots/pair_products.h"

namespace seekrl::search {

namespace {

const SeekrlPairProducts& products() {
  static const SeekrlPairProducts chosen = seekrl_pair_products(kernels::isa() <= kernels::Isa::kAvx2);
  return chosen;
}

struct Bf16 {
  uint16_t bits;
};

float product(const float* a, const float* b, size_t dim) {
  double sum;
  products().f32(a, b, dim, &sum);
  return static_cast<float>(sum);
}

float product(const Bf16* a, const Bf16* b, size_t dim) {
  float sum;
  products().bf16(a, b, dim, &sum);
  return sum;
}

float product(const signed char* a, const signed char* b, size_t dim) {
  int sum;
  products().i8(a, b, dim, &sum);
  return static_cast<float>(sum);
}

float product(const unsigned char* a, const unsigned char* b, size_t dim) {
  unsigned num_different;
  products().b1(a, b, (dim + 63) / 64 * 64, &num_different);
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
  switch (scalar) {
    case Scalar::kF32: return dots<float>;
    case Scalar::kBf16: return dots<Bf16>;
    case Scalar::kI8: return dots<signed char>;
    case Scalar::kB1: break;
  }
  return dots<unsigned char>;
}

Dots dots_of(Scalar scalar) { return avx512::is_supported() ? avx512::dots_of(scalar) : pairs::dots_of(scalar); }

}  // namespace seekrl::search
