// What learns on a decoder that ranks share: rank 0 is asked, and tells the others, who do the same with their slices
// (native/follow). With one process it is the learner alone.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "model/stored/stored_tensor.h"
#include "train/critic.h"
#include "train/follow/learner_command.h"
#include "train/trainer.h"

namespace seekrl::train {

// As the constructors of Trainer and Critic.
template <class Learner>
std::shared_ptr<Learner> open_learner(const model::Policy& policy, const AdamWOptions& options);

// Where a batch is made: on the model's device, or on the CPU where other ranks are told of it.
at::Device batch_device(const model::Decoder& decoder);

// As the learner's own, on all ranks.
void accumulate(Trainer& trainer, const Batch& batch, const LossOptions& options, LossSums& sums,
                int64_t num_recomputed);
void accumulate(Critic& critic, const Batch& batch, double clip, ValueSums& sums, int64_t num_recomputed);
at::Tensor values(const Critic& critic, const Batch& batch);
TokenScores scores(const model::Policy& policy, const Batch& batch, double temperature);

// The name and the whole shape of a tensor of a state.
struct StateShape {
  std::string name;
  std::vector<int64_t> sizes;
  at::ScalarType dtype;
};

// What both learners do on all ranks, as their own methods and those of their optimiser.
template <class Learner>
class OnAllRanks {
 public:
  explicit OnAllRanks(Learner& learner) : learner_(learner) {}

  double update(double learning_rate);
  void zero_gradients();
  at::Tensor gradient(const std::string& name);

  // Those of state(), whole. From any thread.
  std::vector<StateShape> state_shapes() const;
  // One of state(), whole, by its place.
  at::Tensor state_tensor(size_t place);
  void write_state(const std::string& path, const std::string& header);
  void read_state(const std::vector<model::StoredTensor>& stored, int64_t num_steps);

 private:
  model::CommandWriter command(model::Task task) const;

  Learner& learner_;
};

}  // namespace seekrl::train
