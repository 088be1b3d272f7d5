// Fields in the order in which they are read.
#include "train/follow/learner_command.h"

namespace seekrl::train {

namespace {

using model::Command;
using model::CommandReader;
using model::CommandWriter;
using model::Task;

template <class Rest>
Command accumulate_command_of(int64_t number, const Batch& batch, const Rest& rest, int64_t num_recomputed) {
  CommandWriter to(Task::kAccumulate);
  to.number(number);
  write_batch(to, batch);
  return to.plain(rest).number(num_recomputed).take();
}

}  // namespace

Command open_command(Task task, int64_t number, const model::Policy& policy, const AdamWOptions& options) {
  CommandWriter to(task);
  to.number(number).number(policy.adapter_number());
  to.plain(options.beta1).plain(options.beta2).plain(options.epsilon).plain(options.weight_decay);
  to.plain(options.decay_vectors).plain(options.max_grad_norm).plain(options.has_8_bit_moments);
  return to.plain(options.has_master).text(options.state_folder).take();
}

ToldLearner to_learner(CommandReader& from) {
  ToldLearner told = {from.number(), from.number(), {}};
  AdamWOptions& options = told.options;
  options.beta1 = from.plain<double>();
  options.beta2 = from.plain<double>();
  options.epsilon = from.plain<double>();
  options.weight_decay = from.plain<double>();
  options.decay_vectors = from.plain<bool>();
  options.max_grad_norm = from.plain<double>();
  options.has_8_bit_moments = from.plain<bool>();
  options.has_master = from.plain<bool>();
  options.state_folder = from.text();
  return told;
}

void write_batch(CommandWriter& to, const Batch& batch) {
  to.ids(batch.spans.starts).ids(batch.spans.parents);
  for (const at::Tensor* tensor : tensors_of(batch)) to.tensor(*tensor);
}

Batch read_batch(CommandReader& from) {
  Batch batch;
  batch.spans.starts = from.ids();
  batch.spans.parents = from.ids();
  for (at::Tensor* tensor : tensors_of(batch)) *tensor = from.tensor();
  return batch;
}

Command accumulate_command(int64_t number, const Batch& batch, const LossOptions& options, int64_t num_recomputed) {
  return accumulate_command_of(number, batch, options, num_recomputed);
}

Command accumulate_command(int64_t number, const Batch& batch, double clip, int64_t num_recomputed) {
  return accumulate_command_of(number, batch, clip, num_recomputed);
}

}  // namespace seekrl::train
