// From logits to log-probabilities and entropies of a chunk of rows, and from their gradients to the logits'.
#pragma once

#include <cstdint>

#include "kernels/cuda/status.h"

namespace seekrl::cuda {

// Of the distribution softmax(z), z = softcap(logits) inverse_temperature, as kernels/logprob.h has it; softcap(x) =
// cap tanh(x / cap), or x where the cap is 0. Rows are `stride` floats apart, a multiple of 8 and at least V, and begin
// at a multiple of 32 bytes; the floats behind V, if any, are never used.
struct LogitRows {
  float* logits_RV;
  const int64_t* ids_R;  // of 0 to V - 1
  int64_t num_rows, vocab_size, stride;
  float inverse_temperature, softcap;
};

// All f32 [R].
struct RowScores {
  float* logprob_R;  // of the row's id, natural logarithm
  float* entropy_R;  // in nats
  float* max_R;      // of z
  float* log_sum_R;  // log sum exp(z - max)
};

// Reads 4 V bytes a row, once: each thread keeps a maximum and the sums to it, which are joined in the order of
// threads. A block a row; a row's bits depend on that row alone. Logits of minus infinity have no share.
Status score_logits(const RowScores& scores, const LogitRows& rows, void* stream);

struct ScoreGradients {
  const float* logprob_R;  // gradients of the row's results
  const float* entropy_R;
};

// Replaces the logits, not yet capped, by their gradient; with p = softmax(z), H the entropy and t = tanh(logits /
// cap): inverse_temperature (1 - t^2) (logprob ([v = id] - p_v) - entropy p_v (log p_v + H)), t = 0 without a cap. In
// Dtype::kFloat it lies where the logits lay; in 16 bits each row begins where it did and is dense: rows are 2 stride
// numbers apart. What lies between V and the stride is zero then, so that products may run over it. Moves 8 V bytes a
// row, 6 V in 16 bits.
Status logit_gradients(const LogitRows& rows, const RowScores& scores, const ScoreGradients& gradients, Dtype dtype,
                       void* stream);

}  // namespace seekrl::cuda
