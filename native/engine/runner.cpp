// One forward over the flat list of tokens; the head sees only the rows that need a token.
#include "engine/runner.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>

#include "ops/card/transfer.h"
#include "ops/head/token_logprob.h"

namespace seekrl::engine {

namespace {

// On the CPU the list itself.
at::Tensor to_device(std::vector<int64_t>& values, at::Device device) {
  if (device.is_cpu()) return at::from_blob(values.data(), {std::ssize(values)}, at::kLong);
  const at::Tensor there = at::empty({std::ssize(values)}, at::device(device).dtype(at::kLong));
  ops::send(there, values.data());
  return there;
}

}  // namespace

StepOutput Runner::run(const std::vector<Row>& rows) {
  for (auto* list : {&tokens_T_, &positions_T_, &sampling_R_, &scored_N_, &targets_N_}) list->clear();
  model::AdapterRows adapters;
  for (const Row& row : rows) {
    const Sequence& sequence = *row.sequence;
    if (sequence.is_scoring()) list_scored(row);
    for (int64_t position = sequence.num_cached; position < sequence.num_cached + row.num_tokens; ++position) {
      tokens_T_.push_back(sequence.tokens[position]);
      positions_T_.push_back(position);
    }
    adapters.add(sequence.adapter, row.num_tokens);
    for (int64_t i = row.num_samples; i > 0; --i) sampling_R_.push_back(static_cast<int64_t>(tokens_T_.size()) - i);
  }
  attention_->prepare(rows);
  const at::Device device = decoder_->device();
  const auto num_sampling = static_cast<int64_t>(sampling_R_.size()),
             num_scored = static_cast<int64_t>(scored_N_.size());
  const bool needs_all = sampling_R_.size() == tokens_T_.size();
  std::vector<int64_t> wanted = sampling_R_;
  wanted.insert(wanted.end(), scored_N_.begin(), scored_N_.end());
  // When nothing is wanted, any row will do: the step is for its keys and values.
  if (wanted.empty()) wanted.push_back(0);
  const at::Tensor hidden =
      decoder_->forward(to_device(tokens_T_, device), to_device(positions_T_, device), *attention_,
                        needs_all ? at::Tensor() : to_device(wanted, device), adapters);
  StepOutput output;
  if (num_sampling > 0) output.logits_RV = decoder_->logits(hidden.narrow(0, 0, num_sampling));
  if (num_scored == 0) return output;
  const auto scores = ops::token_logprob(hidden.narrow(0, num_sampling, num_scored), decoder_->head_VD(),
                                         to_device(targets_N_, device), 1.0, decoder_->config().logit_softcap);
  output.logprob_N = scores.logprob_R.to(at::kCPU);
  output.entropy_N = scores.entropy_R.to(at::kCPU);
  return output;
}

// The rows whose next token is given and has no score yet: none are run twice but after a loss of blocks.
void Runner::list_scored(const Row& row) {
  const Sequence& sequence = *row.sequence;
  const auto flat = static_cast<int64_t>(tokens_T_.size());
  const int64_t num_before = sequence.num_tokens() - sequence.span.num_given;
  const int64_t end = sequence.num_scored(sequence.num_cached + row.num_tokens);
  for (auto i = static_cast<int64_t>(sequence.span.logprobs.size()); i < end; ++i) {
    scored_N_.push_back(flat + num_before + i - 1 - sequence.num_cached);
    targets_N_.push_back(sequence.tokens[num_before + i]);
  }
}

}  // namespace seekrl::engine
