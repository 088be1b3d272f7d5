// Checks of a packed batch and its way into tensors.
#include "train/batch.h"

#include <ATen/ATen.h>

#include "base/error.h"

namespace seekrl::train {

namespace {

at::Tensor ids(const std::vector<int64_t>& values, at::Device device) {
  return at::tensor(values, at::TensorOptions(at::kLong)).to(device);
}

at::Tensor per_row(const char* name, const std::vector<float>& values, size_t num_rows, at::Device device) {
  if (values.empty()) return {};
  require(values.size() == num_rows, ErrorCode::kShape, name, ": expected one number per row (", num_rows, "), got ",
          values.size());
  return at::tensor(values, at::TensorOptions(at::kFloat)).to(device);
}

void check_spans(const BatchArrays& arrays) {
  const auto& starts = arrays.span_starts;
  require(starts.size() >= 2 && starts.front() == 0 && starts.back() == static_cast<int64_t>(arrays.tokens.size()),
          ErrorCode::kShape, "spanStarts: expected offsets from 0 to ", arrays.tokens.size());
  for (size_t s = 1; s < starts.size(); ++s) {
    require(starts[s] > starts[s - 1], ErrorCode::kRange, "spanStarts: expected increasing offsets, got ",
            starts[s - 1], " then ", starts[s]);
  }
}

void check_tokens(const std::vector<int64_t>& tokens, int64_t vocab_size) {
  for (const int64_t token : tokens) {
    require(token >= 0 && token < vocab_size, ErrorCode::kRange, "tokens: expected ids below ", vocab_size, ", got ",
            token);
  }
}

std::vector<int64_t> positions(const std::vector<int64_t>& span_starts) {
  std::vector<int64_t> result(span_starts.back());
  for (size_t s = 1; s < span_starts.size(); ++s) {
    for (int64_t t = span_starts[s - 1]; t < span_starts[s]; ++t) result[t] = t - span_starts[s - 1];
  }
  return result;
}

// The last token of a span predicts nothing inside the batch, so it cannot be a row.
std::vector<int64_t> targets(const BatchArrays& arrays) {
  std::vector<bool> is_last(arrays.tokens.size(), false);
  for (size_t s = 1; s < arrays.span_starts.size(); ++s) is_last[arrays.span_starts[s] - 1] = true;
  std::vector<int64_t> result;
  result.reserve(arrays.rows.size());
  for (const int64_t row : arrays.rows) {
    require(row >= 0 && row < static_cast<int64_t>(is_last.size()) && !is_last[row], ErrorCode::kRange,
            "rows: expected positions with a next token in their span, got ", row);
    result.push_back(arrays.tokens[row + 1]);
  }
  return result;
}

at::Tensor sequences(const BatchArrays& arrays, at::Device device) {
  if (arrays.sequences.empty()) return {};
  require(arrays.sequences.size() == arrays.rows.size(), ErrorCode::kShape, "sequences: expected one index per row (",
          arrays.rows.size(), "), got ", arrays.sequences.size());
  for (const int64_t sequence : arrays.sequences) {
    require(sequence >= 0 && sequence < static_cast<int64_t>(arrays.rows.size()), ErrorCode::kRange,
            "sequences: expected indices below the number of rows, got ", sequence);
  }
  return ids(arrays.sequences, device);
}

}  // namespace

Batch make_batch(const BatchArrays& arrays, int64_t vocab_size, at::Device device) {
  require(!arrays.rows.empty(), ErrorCode::kShape, "rows: expected at least one trained position");
  check_spans(arrays);
  check_tokens(arrays.tokens, vocab_size);
  const size_t num_rows = arrays.rows.size();
  Batch batch;
  batch.tokens_T = ids(arrays.tokens, device);
  batch.positions_T = ids(positions(arrays.span_starts), device);
  batch.span_starts = arrays.span_starts;
  batch.rows_R = ids(arrays.rows, device);
  batch.targets_R = ids(targets(arrays), device);
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

}  // namespace seekrl::train
