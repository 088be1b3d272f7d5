// One forward over the flat list of tokens; the head sees only the rows that need a token.
#include "engine/runner.h"

#include <ATen/ATen.h>

#include "ops/linear.h"

namespace seekrl::engine {

namespace {

at::Tensor to_device(std::vector<int64_t>& values, at::Device device) {
  return at::from_blob(values.data(), {static_cast<int64_t>(values.size())}, at::kLong).to(device);
}

}  // namespace

at::Tensor Runner::run(const std::vector<Row>& rows) {
  tokens_T_.clear();
  positions_T_.clear();
  sampling_R_.clear();
  for (const Row& row : rows) {
    const Sequence& sequence = *row.sequence;
    for (int64_t position = sequence.num_cached; position < sequence.num_cached + row.num_tokens; ++position) {
      tokens_T_.push_back(sequence.tokens[position]);
      positions_T_.push_back(position);
    }
    if (row.samples) sampling_R_.push_back(static_cast<int64_t>(tokens_T_.size()) - 1);
  }
  attention_.prepare(rows);
  const at::Device device = decoder_->device();
  const bool needs_all = sampling_R_.size() == tokens_T_.size(), samples = !sampling_R_.empty();
  // Without a row that samples, any one will do: the step is for its keys and values.
  if (!samples) sampling_R_.push_back(0);
  const at::Tensor hidden = decoder_->forward(to_device(tokens_T_, device), to_device(positions_T_, device), attention_,
                                              needs_all ? at::Tensor() : to_device(sampling_R_, device));
  for (const Row& row : rows) row.sequence->num_cached += row.num_tokens;
  if (!samples) return {};
  return ops::linear(hidden, decoder_->head_VD(), {});
}

}  // namespace seekrl::engine
