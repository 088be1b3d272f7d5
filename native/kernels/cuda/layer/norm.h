// The residual stream's sums and norms, forward and backward.
#pragma once

#include <cstdint>

#include "kernels/cuda/status.h"

namespace seekrl::cuda {

// The residual stream is f32; what enters and leaves products is in dtype. D is a multiple of 8, at most 16,384; what
// has D numbers to a row begins at a multiple of 16 bytes.
struct AddNorm {
  void* out_TD;              // in dtype: the norm of the sum; null: the sum alone
  float* sum_TD;             // residual + added; may be residual; null where nothing is added
  const float* residual_TD;  // null: nothing, and there is no sum to keep
  const void* added_TD;      // in dtype; null: nothing is added
  const void* weight_D;      // in dtype
  float* scale_T;            // 1 / root mean square of each row, for the backward pass; may be null
  int64_t num_rows, width;
  float epsilon;
  float weight_offset;  // 1 for Gemma's, else 0
  Dtype dtype;
};

// sum = residual + added; out = sum scale (weight + offset), scale = 1 / sqrt(mean of sum^2 + epsilon). A block a row;
// moves 12 D bytes a row, 6 where nothing is added. A row's bits depend on that row alone.
Status add_norm(const AddNorm& call, void* stream);

struct NormGradient {
  float* residual_grad_TD;   // += the gradient through the norm
  float* weight_grad_D;      // += the weight's, when not null
  float* scratch;            // norm_gradient_scratch_floats floats, when weight_grad_D is not null
  const void* out_grad_TD;   // in dtype
  const float* residual_TD;  // as it was normed
  const float* scale_T;
  const void* weight_D;
  int64_t num_rows, width;
  float weight_offset;
  Dtype dtype;
};

// With y = x s w: x_grad += s (w y_grad - x s^2 mean of (w y_grad x)); w_grad += sum over rows of y_grad x s, in the
// order of rows within kNormGroups groups, then of groups. No atomics: the bits are the same each time.
constexpr int64_t kNormGroups = 128;
Status norm_gradient(const NormGradient& call, void* stream);
int64_t norm_gradient_scratch_floats(int64_t width);

}  // namespace seekrl::cuda
