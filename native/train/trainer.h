// Gradients and updates of a policy on packed batches.
#pragma once

#include <memory>
#include <vector>

#include "model/policy.h"
#include "train/adamw.h"
#include "train/batch.h"
#include "train/loss.h"

namespace seekrl::train {

// Log-probability of each row's next token and the entropy of its distribution, without gradients.
struct TokenScores {
  at::Tensor logprob_R;  // f32
  at::Tensor entropy_R;  // f32
};
TokenScores score_tokens(const model::Policy& policy, const Batch& batch, double temperature);

// Trains a decoder in place, or an adapter on one, whose own weights then get no gradients: the engine that shares them
// sees each update. Device thread only.
class Trainer {
 public:
  using Sums = LossSums;

  // `number`: by which other ranks know it under tensor parallelism (follow/told_learner.h).
  Trainer(model::Policy policy, AdamWOptions options, int64_t number = 0);

  // Adds the micro-batch's gradients to the step's, and its loss statistics to `sums`; of a GPU nothing is read, so
  // that the host does not wait. The first num_recomputed layers make their activations again in the backward pass,
  // which changes memory and time but no bit of the gradients. ERR_STATE when the decoder under the adapter is trained
  // too.
  void accumulate(const Batch& batch, const LossOptions& options, LossSums& sums, int64_t num_recomputed = 0);

  // Applies them; the version of what is trained moves by one. Returns the gradient norm before clipping.
  double step(double learning_rate);

  // What a checkpoint holds besides the weights.
  std::vector<model::Parameter> state() const { return optimizer_.state(); }
  void read_state(const std::vector<model::StoredTensor>& stored, int64_t num_steps) {
    optimizer_.read_state({}, stored, num_steps);
  }

  // Of a policy without an adapter.
  void read_weights(const std::vector<model::StoredTensor>& stored) {
    optimizer_.read_weights(*policy_.decoder, stored);
  }

  AdamW& optimizer() { return optimizer_; }
  const AdamW& optimizer() const { return optimizer_; }
  const model::Decoder& decoder() const { return *policy_.decoder; }
  int64_t number() const { return number_; }

 private:
  model::Policy policy_;
  int64_t number_;
  AdamW optimizer_;
};

}  // namespace seekrl::train
