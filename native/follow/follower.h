// What a rank other than 0 does with a decoder under tensor parallelism: its part of what rank 0 does. Device thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>

#include "base/idle_memory.h"
#include "engine/memory/block_pool.h"
#include "engine/runner.h"
#include "model/adapters/adapter.h"
#include "model/decoder.h"
#include "model/policy.h"
#include "train/critic.h"
#include "train/trainer.h"

namespace seekrl::follow {

class Follower {
 public:
  explicit Follower(std::shared_ptr<model::Decoder> decoder);

  // Until rank 0 closes the model. ERR_STATE on rank 0; ERR_REMOTE naming the rank that is gone. What fails here ends
  // the job of all.
  void run();

 private:
  using Decoder = std::shared_ptr<model::Decoder>;

  // An engine of rank 0: its blocks hold this rank's heads.
  struct Engine {
    engine::BlockPool pool;
    engine::Runner runner;
    IdleMemory idle_memory;  // while rank 0 trains, which then gives its own back

    Engine(const Decoder& decoder, int64_t number, int64_t block_tokens, engine::CacheDtype cache_dtype);
  };

  void run(const model::Told& told);
  bool run_on_decoder(const Decoder& decoder, const model::Command& command);
  bool run_on_adapter(const Decoder& decoder, const model::Command& command);
  bool run_on_engine(const Decoder& decoder, const model::Command& command);
  bool run_on_learner(const Decoder& decoder, const model::Command& command);

  bool run_on_state(model::Task task, int64_t learner, model::CommandReader& from);

  void step(const model::Command& command);
  void open_learner(const Decoder& decoder, model::CommandReader& from, bool is_critic);
  void accumulate(const model::Decoder& decoder, int64_t learner, model::CommandReader& from);
  // Calls it with the trainer or critic of that number.
  template <class Call>
  void with_learner(int64_t number, Call call);
  model::Policy policy(const Decoder& decoder, int64_t adapter) const;

  Decoder root_;
  // By their numbers; rank 0 says when each ends.
  std::map<int64_t, Decoder> decoders_;
  std::map<int64_t, std::shared_ptr<model::Adapter>> adapters_;
  std::map<int64_t, std::unique_ptr<Engine>> engines_;
  std::map<int64_t, train::Trainer> trainers_;
  std::map<int64_t, train::Critic> critics_;
};

}  // namespace seekrl::follow
