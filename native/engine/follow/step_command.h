// What other ranks are told of an engine under tensor parallelism: its cache, and which tokens a step runs over which
// blocks. What is drawn from its logits is rank 0's affair.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "engine/memory/block_pool.h"
#include "engine/memory/shared_cache.h"
#include "engine/scheduler.h"
#include "model/parallel/tensor_parallel.h"

namespace seekrl::engine {

// `engine`: its number. Its blocks have no memory yet.
model::Command open_command(int64_t engine, int64_t block_tokens, CacheDtype cache_dtype);
model::Command cache_command(int64_t engine, const WantedCache& wanted);
model::Command step_command(int64_t engine, const BlockPool::Copies& copies, const std::vector<Row>& rows);
model::Command close_command(int64_t engine);

WantedCache to_cache(const model::Command& command);

// A step as another rank has it: sequences that know what the step needs of them, and nothing else.
struct ToldStep {
  BlockPool::Copies copies;
  std::vector<std::unique_ptr<Sequence>> sequences;
  std::vector<Row> rows;  // of these
};

// The adapter of a number; null for 0.
using AdapterOf = std::function<std::shared_ptr<const model::Adapter>(int64_t number)>;
ToldStep to_step(const model::Command& command, const AdapterOf& adapter_of);

}  // namespace seekrl::engine
