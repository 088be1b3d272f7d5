// What encoders of texts (BERT, XLM-R) do to rows between products: norms of sums, GELU, pooling. Attention is
// attention/span.h with is_causal = false. Rows, weights and biases begin at multiples of 16 bytes.
#pragma once

#include <cstdint>

#include "kernels/cuda/status.h"

namespace seekrl::cuda {

// Rows between layers are f32, what enters and leaves products is in dtype; weights and biases of norms are f32. D is a
// multiple of 8, at most 16,384.
struct AddLayerNorm {
  void* out_TD;          // in dtype: the rows rounded, for the next product; may be null
  float* rows_TD;        // in and out: the norm of the sum takes the place of the rows
  const void* added_TD;  // in dtype; null: nothing is added
  const float* weight_D;
  const float* bias_D;
  int64_t num_rows, width;
  float epsilon;
  Dtype dtype;  // kBf16 or kF16
};

// x = rows + added; rows = (x - mean) / sqrt(mean of (x - mean)^2 + epsilon) weight + bias. A block a row, which it
// reads once: the variance is of differences from the mean. Moves 12 D bytes a row. A row's bits depend on it alone.
Status add_layer_norm(const AddLayerNorm& call, void* stream);

struct BiasGelu {
  void* rows_TI;            // in dtype, in place
  const void* bias_I;       // in dtype; may be null
  int64_t num_rows, width;  // width: a multiple of 8
  Dtype dtype;              // kBf16 or kF16
};

// y = z / 2 (1 + erf(z / sqrt(2))), z = x + bias, in f32, rounded once. A thread eight neighbours; moves 4 bytes a
// value.
Status bias_gelu(const BiasGelu& call, void* stream);

enum class PoolKind : int32_t { kFirst, kMean, kLast };

struct PoolTexts {
  float* out_SD;
  const float* rows_TD;
  const int32_t* start_S;    // text s has the rows start_S[s] to start_S[s + 1] (excluded), at least one; S + 1 numbers
  int64_t num_texts, width;  // width: a multiple of 8, at most 16,384
  PoolKind kind;
  bool is_normalised;  // divided by the root of the sum of squares, unless that is 0
};

// The first or last token's row of each text, or the mean of all, summed in their order. A block a text; reads each row
// of a mean once.
Status pool_texts(const PoolTexts& call, void* stream);

}  // namespace seekrl::cuda
