// Checks of a packed batch and its way into tensors.
#include "train/batch.h"

#include <ATen/core/Tensor.h>

#include <algorithm>

#include "base/error.h"
#include "ops/gpu/transfer.h"

namespace seekrl::train {

namespace {

at::Tensor per_row(const char* name, const std::vector<float>& values, size_t num_rows, at::Device device) {
  if (values.empty()) return {};
  require(values.size() == num_rows, ErrorCode::kShape, name, ": expected one number per row (", num_rows, "), got ",
          values.size());
  return ops::copy_to_gpu(values, device);
}

ops::Spans spans_of(const BatchArrays& arrays) {
  ops::Spans spans = {arrays.span_starts, arrays.span_parents};
  ops::check_spans(spans, static_cast<int64_t>(arrays.tokens.size()));
  for (int64_t span = 0; span < spans.count(); ++span) {
    require(spans.length(span) > 0, ErrorCode::kRange, "spanStarts: expected increasing offsets, got ",
            spans.starts[span], " twice");
  }
  return spans;
}

void check_ids(const char* name, const std::vector<int64_t>& values, int64_t limit) {
  for (const int64_t value : values) {
    require(value >= 0 && value < limit, ErrorCode::kRange, name, ": expected numbers below ", limit, ", got ", value);
  }
}

at::Tensor sequences(const BatchArrays& arrays, at::Device device) {
  if (arrays.sequences.empty()) return {};
  require(arrays.sequences.size() == arrays.rows.size(), ErrorCode::kShape, "sequences: expected one index per row (",
          arrays.rows.size(), "), got ", arrays.sequences.size());
  check_ids("sequences", arrays.sequences, static_cast<int64_t>(arrays.rows.size()));
  require(std::is_sorted(arrays.sequences.begin(), arrays.sequences.end()), ErrorCode::kRange,
          "sequences: expected the rows of one after those of another, in ascending order");
  return ops::copy_to_gpu(arrays.sequences, device);
}

}  // namespace

Batch make_batch(const BatchArrays& arrays, int64_t vocab_size, at::Device device) {
  require(!arrays.rows.empty(), ErrorCode::kShape, "rows: expected at least one trained position");
  const size_t num_rows = arrays.rows.size();
  require(arrays.targets.size() == num_rows, ErrorCode::kShape, "targets: expected one id per row (", num_rows,
          "), got ", arrays.targets.size());
  check_ids("tokens", arrays.tokens, vocab_size);
  check_ids("rows", arrays.rows, static_cast<int64_t>(arrays.tokens.size()));
  check_ids("targets", arrays.targets, vocab_size);
  Batch batch;
  batch.spans = spans_of(arrays);
  batch.tokens_T = ops::copy_to_gpu(arrays.tokens, device);
  batch.positions_T = ops::copy_to_gpu(ops::positions(batch.spans), device);
  batch.rows_R = ops::copy_to_gpu(arrays.rows, device);
  batch.targets_R = ops::copy_to_gpu(arrays.targets, device);
  batch.sequences_R = sequences(arrays, device);
  batch.weights_R = per_row("weights", arrays.weights, num_rows, device);
  batch.advantages_R = per_row("advantages", arrays.advantages, num_rows, device);
  batch.old_logprob_R = per_row("oldLogprobs", arrays.old_logprob, num_rows, device);
  batch.rollout_logprob_R = per_row("rolloutLogprobs", arrays.rollout_logprob, num_rows, device);
  batch.reference_logprob_R = per_row("referenceLogprobs", arrays.reference_logprob, num_rows, device);
  batch.returns_R = per_row("returns", arrays.returns, num_rows, device);
  batch.old_values_R = per_row("oldValues", arrays.old_values, num_rows, device);
  return batch;
}

Batch on(Batch batch, at::Device device) {
  if (device.is_cpu()) return batch;
  for (at::Tensor* tensor : tensors_of(batch)) {
    if (!tensor->defined() || !tensor->is_cpu()) continue;
    const at::Tensor there = ops::empty_list(tensor->numel(), tensor->scalar_type(), device);
    ops::send(there, tensor->const_data_ptr());
    *tensor = there;
  }
  return batch;
}

}  // namespace seekrl::train
