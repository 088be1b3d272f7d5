// Commands are run in the order in which they come.
#include "follow/follower.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <c10/util/Exception.h>

#include <exception>
#include <utility>

#include "base/error.h"
#include "model/adapters/merge.h"
#include "model/adapters/told_adapter.h"
#include "model/score.h"
#include "model/weights.h"

namespace seekrl::follow {

using model::Command;
using model::CommandReader;
using model::Task;

namespace {

Task task_of(const Command& command) { return static_cast<Task>(command.front()); }

}  // namespace

Follower::Follower(std::shared_ptr<model::Decoder> decoder) : root_(std::move(decoder)) {
  decoders_.emplace(root_->parallel().number(), root_);
}

void Follower::run() {
  const model::TensorParallel& parallel = root_->parallel();
  require(parallel.rank() > 0, ErrorCode::kState,
          "follow: expected a rank other than 0 of a model that was loaded with `tensorParallel`");
  const at::NoGradGuard no_grad;
  for (;;) {
    const model::Told told = parallel.next_command();
    if (task_of(told.command) == Task::kClose) return;
    try {
      run(told);
    } catch (const c10::OutOfMemoryError& error) {
      const Error named = parallel.full_gpu(error);
      parallel.report(named);
      throw named;
    } catch (const std::exception& error) {
      // Rank 0 throws it too, and says it.
      if (model::TensorParallel::is_alike(error)) continue;
      parallel.report(error);
      throw;
    }
  }
}

void Follower::run(const model::Told& told) {
  const auto found = decoders_.find(told.decoder);
  // Not alike: rank 0 goes on.
  require(found != decoders_.end(), ErrorCode::kRemote,
          "follow: rank 0 uses another model of the same process group; load models one after another, and follow each "
          "until rank 0 has closed it");
  const Decoder decoder = found->second;
  static_cast<void>(run_on_decoder(decoder, told.command) || run_on_adapter(decoder, told.command) ||
                    run_on_engine(decoder, told.command) || run_on_learner(decoder, told.command));
}

model::Policy Follower::policy(const Decoder& decoder, int64_t adapter) const {
  return {decoder, adapter == 0 ? nullptr : adapters_.at(adapter)};
}

bool Follower::run_on_decoder(const Decoder& decoder, const Command& command) {
  CommandReader from(command);
  switch (task_of(command)) {
    case Task::kScore: {
      const model::Policy scored = policy(decoder, from.number());
      model::score_logprobs(scored, from.ids());
      return true;
    }
    case Task::kParameter: static_cast<void>(decoder->parameter(from.text())); return true;
    case Task::kReadWeights: model::read_weights(*decoder, from.stored()); return true;
    case Task::kCopy: {
      const int64_t number = from.number();
      decoders_.insert_or_assign(number, model::clone(*decoder));
      return true;
    }
    case Task::kEndCopy: decoders_.erase(decoder->parallel().number()); return true;
    default: return false;
  }
}

bool Follower::run_on_adapter(const Decoder& decoder, const Command& command) {
  CommandReader from(command);
  switch (task_of(command)) {
    case Task::kOpenAdapter: {
      const int64_t number = from.number();
      model::AdapterOptions options;
      options.rank = from.number();
      options.alpha = from.plain<double>();
      options.is_rank_stabilised = from.number() != 0;
      options.targets = from.texts();
      adapters_.insert_or_assign(number, model::open_adapter(*decoder, std::move(options), from.plain<uint64_t>()));
      return true;
    }
    case Task::kCopyAdapter: {
      const int64_t number = from.number();
      adapters_.insert_or_assign(number, model::copy_adapter(*decoder, *adapters_.at(from.number())));
      return true;
    }
    case Task::kReadAdapter: {
      model::Adapter& adapter = *adapters_.at(from.number());
      model::read_adapter(adapter, from.stored());
      return true;
    }
    case Task::kAdapterTensor: {
      const model::Adapter& adapter = *adapters_.at(from.number());
      model::whole_parameter(adapter, static_cast<size_t>(from.number()));
      return true;
    }
    case Task::kMerge: model::merge(*decoder, *adapters_.at(from.number())); return true;
    case Task::kEndAdapter: adapters_.erase(from.number()); return true;
    default: return false;
  }
}

}  // namespace seekrl::follow
