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
  // `engine`: its number among those whose steps other ranks follow.
  Runner(std::shared_ptr<const model::Decoder> decoder, BlockPool& pool, int64_t engine)
      : decoder_(std::move(decoder)),
        pool_(pool),
        engine_(engine),
        attention_(step_attention(decoder_->own_config(), pool)) {}

  // Writes the keys and values of the rows' tokens, which are cached once nothing of the step can fail. Under tensor
  // parallelism the other ranks do the same.
  StepOutput run(const std::vector<Row>& rows);

 private:
  StepOutput run_own(const std::vector<Row>& rows);
  void list_scored(const Row& row);
  std::vector<kernels::TopToken> list_top(const at::Tensor& hidden_ND) const;

  std::shared_ptr<const model::Decoder> decoder_;
  BlockPool& pool_;
  const int64_t engine_;
  std::unique_ptr<StepAttention> attention_;
  std::vector<int64_t> tokens_T_, positions_T_, sampling_R_, scored_N_, targets_N_, num_top_N_;
};

}  // namespace seekrl::engine
