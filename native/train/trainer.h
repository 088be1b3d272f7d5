// Gradients and updates of a policy on packed batches.
#pragma once

#include <memory>
#include <vector>

#include "model/decoder.h"
#include "train/adamw.h"
#include "train/batch.h"
#include "train/loss.h"

namespace seekrl::train {

// Log-probability of each row's next token and the entropy of its distribution, without gradients.
struct TokenScores {
  at::Tensor logprob_R;  // f32
  at::Tensor entropy_R;  // f32
};
TokenScores score_tokens(const model::Decoder& decoder, const Batch& batch, double temperature);

// Trains the decoder in place: the engine that shares it sees each update. Device thread only.
class Trainer {
 public:
  Trainer(std::shared_ptr<model::Decoder> decoder, AdamWOptions options);

  // Adds the micro-batch's gradients to the step's.
  LossStats accumulate(const Batch& batch, const LossOptions& options);

  // Applies them; the weights' version moves by one. Returns the gradient norm before clipping.
  double step(double learning_rate);

  // What a checkpoint holds besides the decoder's weights.
  std::vector<model::Parameter> state() const { return optimizer_.state(); }

  AdamW& optimizer() { return optimizer_; }
  const model::Decoder& decoder() const { return *decoder_; }

 private:
  std::shared_ptr<model::Decoder> decoder_;
  AdamW optimizer_;
};

}  // namespace seekrl::train
