// A packed micro-batch: the tokens of many sequences as a tree of spans, and the rows the loss looks at.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "ops/attention/spans.h"

namespace seekrl::train {

// Row r is a position and the token behind it that is trained; where sequences part, one position is the row of several
// tokens. Everything that ends in _R has one entry per row. Each `_R` float tensor is f32 and may be undefined when the
// loss does not use it.
struct Batch {
  at::Tensor tokens_T;     // i64
  at::Tensor positions_T;  // i64, of each token in its sequence
  ops::Spans spans;
  at::Tensor rows_R;       // i64, places in T
  at::Tensor targets_R;    // i64, the token after each row
  at::Tensor sequences_R;  // i64, ascending, the sequence a row belongs to; for sequence-level ratios
  at::Tensor weights_R;    // share of the row in the loss of the whole step
  at::Tensor advantages_R;
  at::Tensor old_logprob_R;        // of the policy the update started from; the current one when undefined
  at::Tensor rollout_logprob_R;    // as the engine reported it; only for the gap (law 4)
  at::Tensor reference_logprob_R;  // of the reference policy
  at::Tensor returns_R;            // what a critic should predict
  at::Tensor old_values_R;         // what it predicted when the update started
};

// What JavaScript hands over, before any check.
struct BatchArrays {
  std::vector<int64_t> tokens, span_starts, span_parents, rows, targets, sequences;
  std::vector<float> weights, advantages, old_logprob, rollout_logprob, reference_logprob, returns, old_values;
};

// Checks the arrays against one another (ERR_SHAPE, ERR_RANGE) and sends them to `device`, for which nobody waits.
Batch make_batch(const BatchArrays& arrays, int64_t vocab_size, at::Device device);

// Its tensors, in one order; undefined ones too.
template <class AnyBatch>
auto tensors_of(AnyBatch& batch) {
  return std::vector<decltype(&batch.tokens_T)>{
      &batch.tokens_T,          &batch.positions_T,         &batch.rows_R,       &batch.targets_R,
      &batch.sequences_R,       &batch.weights_R,           &batch.advantages_R, &batch.old_logprob_R,
      &batch.rollout_logprob_R, &batch.reference_logprob_R, &batch.returns_R,    &batch.old_values_R};
}

// One that is there, or on the CPU and then sent, for which nobody waits.
Batch on(Batch batch, at::Device device);

}  // namespace seekrl::train
