// Runs the rows of one step through the decoder.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <vector>

#include "engine/attention/step_attention.h"
#include "engine/scheduler.h"
#include "model/decoder.h"

namespace seekrl::engine {

// What a step computed.
struct StepOutput {
  at::Tensor logits_RV;  // of the rows that sample, in their order, before the model's softcap; undefined for none
  at::Tensor logprob_N;  // f32, CPU, of the tokens scored, row by row; undefined for none
  at::Tensor entropy_N;  // of their distributions
  std::vector<kernels::TopToken> top;  // of those whose spans list them, as many as each span's num_top
};

class Runner {
 public:
  Runner(std::shared_ptr<const model::Decoder> decoder, const BlockPool& pool)
      : decoder_(std::move(decoder)), attention_(step_attention(decoder_->config(), pool)) {}

  // Writes the keys and values of the rows' tokens, which are cached once nothing of the step can fail.
  StepOutput run(const std::vector<Row>& rows);

 private:
  void list_scored(const Row& row);
  std::vector<kernels::TopToken> list_top(const at::Tensor& hidden_ND) const;

  std::shared_ptr<const model::Decoder> decoder_;
  std::unique_ptr<StepAttention> attention_;
  std::vector<int64_t> tokens_T_, positions_T_, sampling_R_, scored_N_, targets_N_, num_top_N_;
};

}  // namespace seekrl::engine
