// How files keep numbers: plain, or in GGUF's blocks of codes. Layouts and formulas: ggml's ggml-common.h and
// ggml-quants.c.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace seekrl::model {

// A row is a sequence of blocks, each of `size` numbers in `bytes` bytes; scales d and m are f16.
//
// F32, F16, BF16: one number.
// Q8_0: 32 of q d, q i8.
// Q4_0, Q5_0: 32 of (q - 8) d, q of 4 bits, and (q - 16) d, q of 5; a byte holds numbers j and j + 16.
// Q4_1, Q5_1: 32 of q d + m.
// IQ4_NL: 32 of a level d, one of 16. MXFP4: 32 of a number of E2M1 times a power of two, E8M0, NaN where that is.
// Q2_K: 256 of q s d - n m, q of 2 bits; each 16 have a scale s and a minimum n of 4 bits.
// Q3_K: 256 of (q - 4) (s - 32) d, q of 3 bits; each 16 have a scale s of 6 bits.
// Q4_K, Q5_K: 256 of q s d - n m, q of 4 and 5 bits; each 32 have a scale s and a minimum n of 6 bits.
// Q6_K: 256 of (q - 32) s d, q of 6 bits in 4 and 2; each 16 have a scale s, i8.
// IQ4_XS: 256 of a level (s - 32) d; each 32 have a scale s of 6 bits.
struct BlockFormat {
  int64_t size;
  size_t bytes;
  void (*widen)(const uint8_t* blocks, int64_t num_blocks, float* numbers);
};

// Null for a dtype that is none of these.
const BlockFormat* block_format(const std::string& dtype);

}  // namespace seekrl::model
