// Products of stored vectors that lie anywhere, the inner loop of walks over a graph.
#pragma once

#include <cstddef>
#include <cstdint>

#include "search/vectors/vector_codec.h"

namespace seekrl::search {

// products_RQ[r * num_queries + q] = the sum over `dim` components of rows[r] times queries[q], both in the stored
// form; b1 counts as -1 and 1. f32 and bf16 are added up in f32, i8 and b1 exactly. A product's bits depend on its two
// vectors only. 2 R Q D FLOP.
using Dots = void (*)(const std::byte* const* rows, int64_t num_rows, const std::byte* const* queries,
                      int64_t num_queries, int64_t dim, float* products_RQ);

// The fastest of this processor: our own tiles where there is AVX-512 with VNNI and BF16, NumKong's kernels elsewhere.
Dots dots_of(Scalar scalar);

// One pair at a time, at any instruction set.
namespace pairs {
Dots dots_of(Scalar scalar);
}

// Tiles of four by four; only where `is_supported`.
namespace avx512 {
bool is_supported();
Dots dots_of(Scalar scalar);
}  // namespace avx512

}  // namespace seekrl::search
