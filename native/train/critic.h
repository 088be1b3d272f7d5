// A decoder or an adapter of its own with a value head: predicts the return before each policy token.
#pragma once

#include <memory>
#include <vector>

#include "model/policy.h"
#include "train/adamw.h"
#include "train/batch.h"
#include "train/loss.h"

namespace seekrl::train {

class Critic {
 public:
  using Sums = ValueSums;

  // `trunk` belongs to the critic alone: the adapter where there is one, else the decoder. The head starts at zero, so
  // every first value is zero.
  // `number` as of Trainer.
  Critic(model::Policy trunk, AdamWOptions options, int64_t number = 0);

  // Values at the batch's rows, f32 [R], without gradients.
  at::Tensor values(const Batch& batch) const;

  // As Trainer::accumulate.
  void accumulate(const Batch& batch, double clip, ValueSums& sums, int64_t num_recomputed = 0);
  double step(double learning_rate);

  // What a checkpoint holds besides the trunk's weights: the optimiser's state and the head, "value_head.weight"
  // [1, D] and "value_head.bias" [1].
  std::vector<model::Parameter> state() const;
  void read_state(const std::vector<model::StoredTensor>& stored, int64_t num_steps) {
    optimizer_.read_state(head_, stored, num_steps);
  }

  // As Trainer::read_weights.
  void read_weights(const std::vector<model::StoredTensor>& stored) {
    optimizer_.read_weights(*trunk_.decoder, stored);
  }

  AdamW& optimizer() { return optimizer_; }
  const AdamW& optimizer() const { return optimizer_; }
  const model::Decoder& decoder() const { return *trunk_.decoder; }
  int64_t number() const { return number_; }

 private:
  at::Tensor predict(const at::Tensor& states_RD) const;

  model::Policy trunk_;
  int64_t number_;
  std::vector<model::Parameter> head_;
  AdamW optimizer_;
};

}  // namespace seekrl::train
