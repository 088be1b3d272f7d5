// Products with quantised weights, whose codes are read as native/kernels/products/quant.h lays them out.
#pragma once

#include <cstdint>

#include "kernels/cuda/status.h"

namespace seekrl::cuda {

enum class QuantKind : int32_t { kInt8, kInt4, kNf4 };

// W [N, K] in the arrays of ops/quant/quant_weight.h, on the GPU; K is a multiple of 8, codes and scales of
// blocks begin at multiples of 16 bytes. What a kind does not have is null.
struct QuantMatrix {
  QuantKind kind;
  const uint8_t* codes;           // kInt8, kInt4: panels of 16 outputs; kNf4: rows
  const float* channel_scales_N;  // kInt8: [panels x 16]
  const uint16_t* block_scales;   // kInt4: bits of f16, [panels, blocks, 16]
  const uint8_t* absmax;          // kNf4: [N, blocks of 64], each a place in absmax_levels
  const float* absmax_scales;     // kNf4: of each 256 of them
  const float* absmax_mean;       // kNf4: one number, added to each
  const float* absmax_levels;     // kNf4: 256
  const float* levels;            // kNf4: the 16 that codes mean
  int64_t n, k;
};

// Rows of x that a product takes at most.
constexpr int64_t kMaxQuantRows = 64;

struct QuantProduct {
  void* out_MN;      // in out_dtype
  const void* x_MK;  // in dtype, at a multiple of 16 bytes
  QuantMatrix weight;
  const void* bias_N;            // in dtype, at a multiple of 16 bytes; null for none
  int64_t out_stride, x_stride;  // values from a row to the next; of x: a multiple of 8
  int64_t num_rows;
  Dtype dtype;      // kBf16 or kF16
  Dtype out_dtype;  // dtype, or kFloat
};

// out = x W^T + bias for at most kMaxQuantRows rows, with the bits of the product (product/product.h) with what
// `dequantise` makes of W: by few rows or by many, and in training, a row has the same ones. Reads each byte of W once,
// 16 at a time, and x once for 32 or 64 outputs; codes become numbers in shared memory. 2 M N K operations.
Status quant_product(const QuantProduct& product, void* stream);

// W [N, K] in 16 bits, at a multiple of 16 bytes, for a product of more rows: the codes' values in f32, rounded once.
Status dequantise(void* to_NK, const QuantMatrix& weight, Dtype dtype, void* stream);

}  // namespace seekrl::cuda
