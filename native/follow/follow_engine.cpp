// Steps of an engine: which tokens run over which blocks.
#include "base/idle_memory.h"
#include "engine/follow/step_command.h"
#include "follow/follower.h"
#include "ops/activation_memory.h"
#include "ops/gpu/memory.h"

namespace seekrl::follow {

using model::Command;
using model::Task;

Follower::Engine::Engine(const Decoder& decoder, int64_t number, int64_t block_tokens, engine::CacheDtype cache_dtype)
    : pool(decoder->own_config(), block_tokens, decoder->dtype(), decoder->device(), cache_dtype),
      runner(decoder, pool, number),
      idle_memory(Work::kGenerate, [this] {
        if (!pool.has_storage() || pool.layout() != engine::BlockLayout::kOnGpu) return;
        pool.drop_storage();
        ops::release_cached(pool.device());
      }) {}

bool Follower::run_on_engine(const Decoder& decoder, const Command& command) {
  switch (static_cast<Task>(command.front())) {
    case Task::kOpenEngine: {
      const auto cache_dtype = static_cast<engine::CacheDtype>(command[3]);
      engines_.insert_or_assign(command[1], std::make_unique<Engine>(decoder, command[1], command[2], cache_dtype));
      return true;
    }
    case Task::kTakeCache:
      engine::take_alike(engines_.at(command[1])->pool, engine::to_cache(command), *decoder);
      return true;
    case Task::kStep: step(command); return true;
    case Task::kCloseEngine: engines_.erase(command[1]); return true;
    default: return false;
  }
}

void Follower::step(const Command& command) {
  enter(Work::kGenerate);
  const ops::ActivationScope activations;
  Engine& engine = *engines_.at(command[1]);
  const auto adapter_of = [&](int64_t number) { return number == 0 ? nullptr : adapters_.at(number); };
  const engine::ToldStep step = engine::to_step(command, adapter_of);
  for (const auto& [from, to] : step.copies) engine.pool.copy(from, to);
  engine.runner.run(step.rows);
}

}  // namespace seekrl::follow
