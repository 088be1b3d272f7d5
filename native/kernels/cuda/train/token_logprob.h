// From logits to log-probabilities and entropies of a chunk of rows, and from their gradients to the logits'.
#pragma once

#include <cstdint>

#include "kernels/cuda/status.h"

namespace seekrl::cuda {

// Of the distribution softmax(z), z = softcap(logits) inverse_temperature, as kernels/logprob.h has it; softcap(x) =
// cap tanh(x / cap), as kernels/rows.h has it, or x where the cap is 0. V: at most 327,680. Rows are `stride` floats
// apart, a multiple of 8 and at least V, and begin at a multiple of 16 bytes; the floats behind V, if any, are never
// used.
struct LogitRows {
  float* logits_RV;
  const int64_t* ids_R;  // of first_id to first_id + V - 1; of parts, of the whole row's
  int64_t num_rows, vocab_size, stride;
  float inverse_temperature, softcap;
  // Where these are a part of wider rows, which others have the rest of: the first one's place there.
  bool is_part = false;
  int64_t first_id = 0;
};

// All f32 [R].
struct RowScores {
  float* logprob_R;  // of the row's id, natural logarithm; of a part, the id's z, -infinity where it is another part's
  float* entropy_R;  // in nats
  float* max_R;      // of z
  float* log_sum_R;  // log sum exp(z - max)
};

// The bits of the CPU's row_stats and logprob, after its softcap, and of sampling/sampler.h: the same exponential, 16
// sums by index mod 16 in blocks of 1,024, blocks added in f64, so that a token's log-probability is one number in
// generation and in training. (That of f64's logarithm, rounded to f32, is the library's.) As there, logits of minus
// infinity have no share, and a row that is not finite has NaN.
// Reads a row twice, 8 V bytes, for the maximum and for both sums. A block of 512 threads a row, four to each 1,024
// logits; a row's bits depend on that row alone.
Status score_logits(const RowScores& scores, const LogitRows& rows, void* stream);

// parts_P4R: of each of P parts of the rows' logits, in their order, what score_logits makes of it: the four lists of
// RowScores, one behind the other. Gives those of the whole rows, in f64 and in the order of the parts: with w_i the
// share of part i in the sum of exponentials and a_i the mean of z - max_i in it, log_sum = log sum exp(max_i - max +
// log_sum_i) and entropy = log_sum - sum w_i (a_i + max_i - max), as ops/head/row_parts.h has them. A thread a row.
Status combine_scores(const RowScores& scores, const float* parts_P4R, int64_t num_parts, int64_t num_rows,
                      void* stream);

struct ScoreGradients {
  const float* logprob_R;  // gradients of the row's results
  const float* entropy_R;
};

// Replaces the logits, not yet capped, by their gradient; with p = softmax(z), H the entropy and t = tanh(logits /
// cap): inverse_temperature (1 - t^2) (logprob ([v = id] - p_v) - entropy p_v (log p_v + H)), t = 0 without a cap; the
// bits of the CPU's row_backward. In Dtype::kFloat it lies where the logits lay; in 16 bits each row begins where it
// did and is dense: rows are 2 stride numbers apart. What lies between V and the stride is zero then, so that products
// may run over it. Scores of a part are those of the whole rows. Moves 8 V bytes a row, 6 V in 16 bits.
Status logit_gradients(const LogitRows& rows, const RowScores& scores, const ScoreGradients& gradients, Dtype dtype,
                       void* stream);

}  // namespace seekrl::cuda
