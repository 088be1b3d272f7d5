// What a rank other than 0 does with a decoder under tensor parallelism: its part of what rank 0 does. Device thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>

#include "engine/memory/block_pool.h"
#include "engine/runner.h"
#include "model/decoder.h"

namespace seekrl::engine {

class Follower {
 public:
  explicit Follower(std::shared_ptr<model::Decoder> decoder) : decoder_(std::move(decoder)) {}

  // Until rank 0 closes the model. ERR_STATE on rank 0; ERR_REMOTE naming the rank that is gone. What fails here ends
  // the job of all.
  void run();

 private:
  // An engine of rank 0: its blocks hold this rank's heads.
  struct Engine {
    BlockPool pool;
    Runner runner;

    Engine(const std::shared_ptr<model::Decoder>& decoder, int64_t number, int64_t block_tokens)
        : pool(decoder->own_config(), block_tokens, decoder->dtype(), decoder->device()),
          runner(decoder, pool, number) {}
  };

  void run(const model::Command& command);
  void score(const model::Command& command);
  void open(const model::Command& command);
  void step(const model::Command& command);

  std::shared_ptr<model::Decoder> decoder_;
  std::map<int64_t, std::unique_ptr<Engine>> engines_;
};

}  // namespace seekrl::engine
