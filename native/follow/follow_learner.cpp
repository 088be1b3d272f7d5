// Micro-batches and updates of a trainer or a critic.
#include "base/error.h"
#include "follow/follower.h"
#include "train/follow/told_learner.h"

namespace seekrl::follow {

using model::Command;
using model::CommandReader;
using model::Task;

template <class Call>
void Follower::with_learner(int64_t number, Call call) {
  const auto trainer = trainers_.find(number);
  return trainer == trainers_.end() ? call(critics_.at(number)) : call(trainer->second);
}

bool Follower::run_on_learner(const Decoder& decoder, const Command& command) {
  CommandReader from(command);
  const auto task = static_cast<Task>(command.front());
  if (task == Task::kOpenTrainer || task == Task::kOpenCritic) {
    open_learner(decoder, from, task == Task::kOpenCritic);
    return true;
  }
  const int64_t number = from.number();
  if (task == Task::kScoreBatch) {
    const train::Batch batch = train::on(train::read_batch(from), decoder->device());
    train::score_tokens(policy(decoder, number), batch, from.plain<double>());
    return true;
  }
  switch (task) {
    case Task::kAccumulate: accumulate(*decoder, number, from); return true;
    case Task::kValues: critics_.at(number).values(train::on(train::read_batch(from), decoder->device())); return true;
    case Task::kUpdate: with_learner(number, [&](auto& learner) { learner.step(from.plain<double>()); }); return true;
    case Task::kZeroGradients:
      with_learner(number, [](auto& learner) { learner.optimizer().zero_gradients(); });
      return true;
    case Task::kEndLearner:
      trainers_.erase(number);
      critics_.erase(number);
      return true;
    default: return run_on_state(task, number, from);
  }
}

bool Follower::run_on_state(Task task, int64_t number, CommandReader& from) {
  switch (task) {
    case Task::kGradient:
      with_learner(number, [&](auto& learner) { learner.optimizer().gradient(from.text()); });
      return true;
    case Task::kStateTensor: {
      const auto place = static_cast<size_t>(from.number());
      with_learner(number, [&](auto& learner) { train::OnAllRanks(learner).state_tensor(place); });
      return true;
    }
    case Task::kReadState: {
      const std::vector<model::StoredTensor> stored = from.stored();
      with_learner(number, [&](auto& learner) { learner.read_state(stored, from.number()); });
      return true;
    }
    default: return false;
  }
}

void Follower::open_learner(const Decoder& decoder, CommandReader& from, bool is_critic) {
  const auto [number, adapter, options] = train::to_learner(from);
  const model::Policy own = policy(decoder, adapter);
  if (is_critic) {
    critics_.try_emplace(number, own, options, number);
  } else {
    trainers_.try_emplace(number, own, options, number);
  }
}

// What it tells of its rows rank 0 knows as well.
void Follower::accumulate(const model::Decoder& decoder, int64_t learner, CommandReader& from) {
  const train::Batch batch = train::on(train::read_batch(from), decoder.device());
  if (const auto trainer = trainers_.find(learner); trainer != trainers_.end()) {
    const auto options = from.plain<train::LossOptions>();
    train::LossSums sums;
    trainer->second.accumulate(batch, options, sums, from.number());
    return;
  }
  const auto clip = from.plain<double>();
  train::ValueSums sums;
  critics_.at(learner).accumulate(batch, clip, sums, from.number());
}

}  // namespace seekrl::follow
