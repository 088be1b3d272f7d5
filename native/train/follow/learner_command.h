// What other ranks are told of what learns: its options, and the micro-batches that they run with it.
#pragma once

#include <cstdint>

#include "model/parallel/command.h"
#include "model/policy.h"
#include "train/adamw.h"
#include "train/batch.h"
#include "train/loss.h"

namespace seekrl::train {

// Task kOpenTrainer or kOpenCritic, of a policy whose decoder the command is for.
struct ToldLearner {
  int64_t number, adapter;
  AdamWOptions options;
};
model::Command open_command(model::Task task, int64_t number, const model::Policy& policy, const AdamWOptions& options);
ToldLearner to_learner(model::CommandReader& from);

void write_batch(model::CommandWriter& to, const Batch& batch);
Batch read_batch(model::CommandReader& from);

// kAccumulate: of a trainer with a loss, of a critic with a clip.
model::Command accumulate_command(int64_t number, const Batch& batch, const LossOptions& options,
                                  int64_t num_recomputed);
model::Command accumulate_command(int64_t number, const Batch& batch, double clip, int64_t num_recomputed);

}  // namespace seekrl::train
