// Products of factors of 16 bits, forward and for both gradients, whose bits do not depend on the batch.
//
// Each output is one chain of f32 sums along the depth, sixteen at a time in order, whatever tiles the product is cut
// into and whatever rows are beside its own: a row that is generated alone has the bits that training gives it.
#pragma once

#include <cstdint>

#include "kernels/cuda/status.h"

namespace seekrl::cuda {

enum class ProductForm : int32_t {
  kForward,         // out [M, N] = x [M, K] w [N, K]^T
  kInputGradient,   // out [M, N] = g [M, K] w [K, N]
  kWeightGradient,  // out [M, N] = g [K, M]^T x [K, N]
};

// All pointers are to the GPU's memory. Factors and bias begin at multiples of 16 bytes; rows of factors are multiples
// of 8 values apart and, where they are read along, multiples of 8 values long: K of kForward, K and N of
// kInputGradient, M and N of kWeightGradient. Other sizes are any. `out` may have any stride; rows that begin at
// multiples of 16 bytes are stored 16 bytes at a time. It is none of the factors.
struct Product {
  void* out_MN;                                   // in out_dtype
  const void* left;                               // in dtype
  const void* right;                              // in dtype
  const void* bias_N;                             // in dtype; null for none
  int64_t out_stride, left_stride, right_stride;  // values from a row to the next
  int64_t m, n, k;
  ProductForm form;
  Dtype dtype;      // kBf16 or kF16
  Dtype out_dtype;  // dtype, or kFloat
  bool adds;        // to what `out` holds, so that gradients go straight into f32 sums
  float scale = 1;
};

// out = scale left right + bias, or out += that; sums, scale and bias in f32, rounded once. 2 M N K FLOP. Up to 64 rows
// read the right factor once; more rows, once for every 64 or 128 of them, mostly from the second-level cache.
Status product(const Product& call, void* stream);

}  // namespace seekrl::cuda
