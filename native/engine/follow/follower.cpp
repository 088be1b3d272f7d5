// Commands are run in the order in which they come.
#include "engine/follow/follower.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>

#include <exception>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/idle_memory.h"
#include "engine/follow/step_command.h"
#include "model/score.h"
#include "ops/activation_memory.h"

namespace seekrl::engine {

using model::Command;
using model::Task;

void Follower::run() {
  const model::TensorParallel& parallel = decoder_->parallel();
  require(parallel.rank() > 0, ErrorCode::kState,
          "follow: expected a rank other than 0 of a model that was loaded with `tensorParallel`");
  const at::NoGradGuard no_grad;
  for (;;) {
    const Command command = parallel.next_command();
    if (static_cast<Task>(command[0]) == Task::kClose) return;
    try {
      run(command);
    } catch (const std::exception& error) {
      parallel.report(error.what());
      throw;
    }
  }
}

void Follower::run(const Command& command) {
  switch (static_cast<Task>(command[0])) {
    case Task::kScore: score(command); break;
    case Task::kParameter: static_cast<void>(decoder_->parameter({command.begin() + 1, command.end()})); break;
    case Task::kOpenEngine: open(command); break;
    case Task::kStep: step(command); break;
    case Task::kCloseEngine: engines_.erase(command[1]); break;
    case Task::kClose: break;
  }
}

// That a number is not finite is for rank 0 to say.
void Follower::score(const Command& command) {
  try {
    model::score_logprobs({decoder_, nullptr}, {command.begin() + 1, command.end()});
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kRange) throw;
  }
}

void Follower::open(const Command& command) {
  auto engine = std::make_unique<Engine>(decoder_, command[1], command[2]);
  engine->pool.take_storage(command[3]);
  engines_.insert_or_assign(command[1], std::move(engine));
}

void Follower::step(const Command& command) {
  enter(Work::kGenerate);
  const ops::ActivationScope activations;
  Engine& engine = *engines_.at(command[1]);
  const ToldStep step = to_step(command);
  for (const auto& [from, to] : step.copies) engine.pool.copy(from, to);
  engine.runner.run(step.rows);
}

}  // namespace seekrl::engine
