// One forward over the flat list of tokens; the head sees only the rows that need a token.
#include "engine/runner.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>

#include "engine/follow/step_command.h"
#include "engine/sampling/sampler.h"
#include "ops/gpu/transfer.h"
#include "ops/head/row_chunks.h"

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
  StepOutput output;
  decoder_->parallel().together([&] { return step_command(engine_, pool_.take_copies(), rows); },
                                [&] { output = run_own(rows); });
  return output;
}

StepOutput Runner::run_own(const std::vector<Row>& rows) {
  for (auto* list : {&tokens_T_, &positions_T_, &sampling_R_, &scored_N_, &targets_N_, &num_top_N_}) list->clear();
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
  const at::Tensor rows_R = needs_all ? at::Tensor() : to_device(wanted, device);
  if (!needs_all) adapters.know(rows_R, wanted);
  const at::Tensor hidden =
      decoder_->forward(to_device(tokens_T_, device), to_device(positions_T_, device), *attention_, rows_R, adapters);
  StepOutput output;
  if (num_sampling > 0) output.logits_RV = decoder_->logits(hidden.narrow(0, 0, num_sampling));
  if (num_scored == 0) return output;
  const at::Tensor hidden_ND = hidden.narrow(0, num_sampling, num_scored);
  const auto scores = decoder_->token_logprob(hidden_ND, to_device(targets_N_, device), 1.0);
  output.entropy_N = ops::copy_to_host(scores.entropy_R);
  output.logprob_N = scores.logprob_R.to(at::kCPU);  // waits for both
  output.top = list_top(hidden_ND);
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
    num_top_N_.push_back(sequence.span.options.num_top);
  }
}

// What greedy draws from the rows that ask would list: their logits are made once more, a chunk of rows at a time.
std::vector<kernels::TopToken> Runner::list_top(const at::Tensor& hidden_ND) const {
  static const SamplingOptions greedy = {.temperature = 0};
  std::vector<SampleRequest> requests;
  std::vector<int64_t> rows;
  for (int64_t i = 0; i < std::ssize(num_top_N_); ++i) {
    if (num_top_N_[i] == 0) continue;
    rows.push_back(i);
    requests.push_back({.options = &greedy, .num_top = num_top_N_[i]});
  }
  std::vector<kernels::TopToken> top;
  if (rows.empty()) return top;
  const at::Tensor asking_RD = hidden_ND.index_select(0, to_device(rows, decoder_->device()));
  const model::DecoderConfig& config = decoder_->config();
  ops::for_chunks(asking_RD, config.vocab_size, [&](int64_t first, int64_t count) {
    const auto begin = requests.begin() + first;
    auto samples = sample(decoder_->logits(asking_RD.narrow(0, first, count)), {begin, begin + count},
                          config.logit_softcap, decoder_->logits_part());
    for (size_t i = 0; i < samples.size(); ++i) {
      std::vector<kernels::TopToken>& own = samples[i].top;
      own.resize(begin[static_cast<int64_t>(i)].num_top);  // that of a row that is not finite fails with its score
      top.insert(top.end(), own.begin(), own.end());
    }
  });
  return top;
}

}  // namespace seekrl::engine
