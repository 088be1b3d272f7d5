// The critic's forward, loss and update.
#include "train/critic.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros.h>

#include <utility>

#include "base/idle_memory.h"
#include "ops/activation_memory.h"
#include "ops/products/linear.h"
#include "train/hidden.h"

namespace seekrl::train {

namespace {

std::vector<model::Parameter> zero_head(const model::Decoder& trunk) {
  const auto options = at::TensorOptions(trunk.dtype()).device(trunk.device());
  return {{"value_head.weight", at::zeros({1, trunk.config().hidden_size}, options)},
          {"value_head.bias", at::zeros({1}, options)}};
}

// A tied or separate output head takes no part in the values; only the trunk and the value head are trained.
std::vector<model::Parameter> trained(const model::Policy& trunk, const std::vector<model::Parameter>& head) {
  std::vector<model::Parameter> result;
  for (const auto& parameter : trunk.parameters()) {
    if (parameter.name != "lm_head.weight") result.push_back(parameter);
  }
  result.insert(result.end(), head.begin(), head.end());
  return result;
}

}  // namespace

Critic::Critic(model::Policy trunk, AdamWOptions options, int64_t number)
    : trunk_(std::move(trunk)),
      number_(number),
      head_(zero_head(decoder())),
      optimizer_(trained(trunk_, head_), options, slices_of(trunk_),
                 unread_of(trunk_, trained(trunk_, head_), options)) {}

at::Tensor Critic::predict(const at::Tensor& states_RD) const {
  return ops::linear(states_RD, head_[0].value, head_[1].value).squeeze(1).to(at::kFloat);
}

std::vector<model::Parameter> Critic::state() const {
  std::vector<model::Parameter> result = optimizer_.state();
  const std::vector<model::Parameter> head = optimizer_.written_of(head_);
  result.insert(result.end(), head.begin(), head.end());
  return result;
}

at::Tensor Critic::values(const Batch& batch) const {
  at::NoGradGuard no_grad;
  return predict(row_states(trunk_, batch).states_RD);
}

void Critic::accumulate(const Batch& batch, double clip, ValueSums& sums, int64_t num_recomputed) {
  check_frozen(trunk_);
  enter(Work::kTrain);
  const ops::ActivationScope scope;
  at::AutoGradMode with_grad(true);
  RowStates rows;  // until the backward has gone through it
  optimizer_.accumulate([&](model::PassObserver* observer) {
    rows = row_states(trunk_, batch, {num_recomputed, observer});
    return value_loss(predict(rows.states_RD), batch, clip, sums);
  });
}

double Critic::step(double learning_rate) {
  const double norm = optimizer_.step(learning_rate);
  trunk_.changed();
  return norm;
}

}  // namespace seekrl::train
