// One packed forward, the loss on its rows, the backward, and the update.
#include "train/trainer.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>

#include <utility>

#include "base/idle_memory.h"
#include "ops/activation_memory.h"
#include "train/hidden.h"

namespace seekrl::train {

TokenScores score_tokens(const model::Policy& policy, const Batch& batch, double temperature) {
  at::NoGradGuard no_grad;
  const auto& decoder = *policy.decoder;
  const auto scores = decoder.token_logprob(row_states(policy, batch).states_RD, batch.targets_R, temperature);
  return {scores.logprob_R, scores.entropy_R};
}

Trainer::Trainer(model::Policy policy, AdamWOptions options, int64_t number)
    : policy_(std::move(policy)),
      number_(number),
      optimizer_(policy_.parameters(), options, slices_of(policy_), unread_of(policy_, policy_.parameters(), options)) {
}

void Trainer::accumulate(const Batch& batch, const LossOptions& options, LossSums& sums, int64_t num_recomputed) {
  check_frozen(policy_);
  enter(Work::kTrain);
  const ops::ActivationScope scope;
  at::AutoGradMode with_grad(true);
  RowStates rows;  // until the backward has gone through it
  optimizer_.accumulate([&](model::PassObserver* observer) {
    rows = row_states(policy_, batch, {num_recomputed, observer});
    const auto scores = decoder().token_logprob(rows.states_RD, batch.targets_R, options.temperature);
    return policy_loss(scores.logprob_R, scores.entropy_R, batch, options, sums);
  });
}

double Trainer::step(double learning_rate) {
  const double norm = optimizer_.step(learning_rate);
  policy_.changed();
  return norm;
}

}  // namespace seekrl::train
