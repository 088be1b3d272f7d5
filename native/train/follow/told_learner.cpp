// Rank 0 makes its own first: what is refused the others are never told of.
#include "train/follow/told_learner.h"

#include <ATen/core/Tensor.h>

#include <atomic>

#include "model/weights.h"

namespace seekrl::train {

namespace {

using model::CommandWriter;
using model::Task;

// Alone, a learner is nobody else's and has no number.
int64_t next_number() {
  static std::atomic<int64_t> last{0};
  return ++last;
}

template <class Learner>
const model::TensorParallel& parallel_of(const Learner& learner) {
  return learner.decoder().parallel();
}

template <class Learner>
Batch there(const Learner& learner, const Batch& batch) {
  return on(batch, learner.decoder().device());
}

// Where a sum over GPUs may be aborted: so that it is known to be whole before it is believed.
at::Tensor home(const at::Tensor& x, const model::TensorParallel& parallel) {
  return parallel.is_split() ? x.to(at::kCPU) : x;
}

// Of a state's tensor: all of it where a learner has more tensors than its optimiser.
model::Slice slice_at(const std::vector<model::Slice>& slices, size_t place) {
  return place < slices.size() ? slices[place] : model::Slice();
}

}  // namespace

template <class Learner>
std::shared_ptr<Learner> open_learner(const model::Policy& policy, const AdamWOptions& options) {
  constexpr Task kTask = std::is_same_v<Learner, Trainer> ? Task::kOpenTrainer : Task::kOpenCritic;
  const int64_t number = next_number();
  auto learner = std::make_shared<Learner>(policy, options, number);
  policy.parallel().together([&] { return open_command(kTask, number, policy, options); }, [] {});
  policy.parallel().end_with(learner, CommandWriter(Task::kEndLearner).number(number).take());
  return learner;
}

at::Device batch_device(const model::Decoder& decoder) {
  return decoder.parallel().is_split() ? at::Device(at::kCPU) : decoder.device();
}

void accumulate(Trainer& trainer, const Batch& batch, const LossOptions& options, LossSums& sums,
                int64_t num_recomputed) {
  parallel_of(trainer).together([&] { return accumulate_command(trainer.number(), batch, options, num_recomputed); },
                                [&] { trainer.accumulate(there(trainer, batch), options, sums, num_recomputed); });
}

void accumulate(Critic& critic, const Batch& batch, double clip, ValueSums& sums, int64_t num_recomputed) {
  parallel_of(critic).together([&] { return accumulate_command(critic.number(), batch, clip, num_recomputed); },
                               [&] { critic.accumulate(there(critic, batch), clip, sums, num_recomputed); });
}

at::Tensor values(const Critic& critic, const Batch& batch) {
  const auto command = [&] {
    CommandWriter to(Task::kValues);
    write_batch(to.number(critic.number()), batch);
    return to.take();
  };
  at::Tensor values_R;
  parallel_of(critic).together(command,
                               [&] { values_R = home(critic.values(there(critic, batch)), parallel_of(critic)); });
  return values_R;
}

TokenScores scores(const model::Policy& policy, const Batch& batch, double temperature) {
  const auto command = [&] {
    CommandWriter to(Task::kScoreBatch);
    write_batch(to.number(policy.adapter_number()), batch);
    return to.plain(temperature).take();
  };
  TokenScores found;
  policy.parallel().together(command, [&] {
    const TokenScores own = score_tokens(policy, on(batch, policy.decoder->device()), temperature);
    found = {home(own.logprob_R, policy.parallel()), home(own.entropy_R, policy.parallel())};
  });
  return found;
}

template <class Learner>
model::CommandWriter OnAllRanks<Learner>::command(Task task) const {
  CommandWriter to(task);
  to.number(learner_.number());
  return to;
}

template <class Learner>
double OnAllRanks<Learner>::update(double learning_rate) {
  double norm = 0;
  parallel_of(learner_).together([&] { return command(Task::kUpdate).plain(learning_rate).take(); },
                                 [&] { norm = learner_.step(learning_rate); });
  return norm;
}

template <class Learner>
void OnAllRanks<Learner>::zero_gradients() {
  parallel_of(learner_).together([&] { return command(Task::kZeroGradients).take(); },
                                 [&] { learner_.optimizer().zero_gradients(); });
}

template <class Learner>
at::Tensor OnAllRanks<Learner>::gradient(const std::string& name) {
  at::Tensor whole;
  parallel_of(learner_).together([&] { return command(Task::kGradient).text(name).take(); },
                                 [&] { whole = learner_.optimizer().gradient(name); });
  return whole;
}

template <class Learner>
std::vector<StateShape> OnAllRanks<Learner>::state_shapes() const {
  const std::vector<model::Slice> slices = learner_.optimizer().state_slices();
  std::vector<StateShape> shapes;
  for (const auto& [name, value] : learner_.state()) {
    const model::Slice slice = slice_at(slices, shapes.size());
    shapes.push_back({name, value.sizes().vec(), value.scalar_type()});
    if (!slice.is_all()) shapes.back().sizes[static_cast<size_t>(slice.dim)] = slice.whole;
  }
  return shapes;
}

template <class Learner>
at::Tensor OnAllRanks<Learner>::state_tensor(size_t place) {
  const model::Slice slice = slice_at(learner_.optimizer().state_slices(), place);
  const model::Parameter own = learner_.state().at(place);
  at::Tensor whole;
  parallel_of(learner_).together([&] { return command(Task::kStateTensor).number(static_cast<int64_t>(place)).take(); },
                                 [&] { whole = parallel_of(learner_).joined(own.value, slice, own.name); });
  return whole;
}

template <class Learner>
void OnAllRanks<Learner>::write_state(const std::string& path, const std::string& header) {
  model::write_tensors(learner_.state(), path, header, "F32", [&](size_t place) { return state_tensor(place); });
}

template <class Learner>
void OnAllRanks<Learner>::read_state(const std::vector<model::StoredTensor>& stored, int64_t num_steps) {
  parallel_of(learner_).together([&] { return command(Task::kReadState).stored(stored).number(num_steps).take(); },
                                 [&] { learner_.read_state(stored, num_steps); });
}

template std::shared_ptr<Trainer> open_learner<Trainer>(const model::Policy&, const AdamWOptions&);
template std::shared_ptr<Critic> open_learner<Critic>(const model::Policy&, const AdamWOptions&);
template class OnAllRanks<Trainer>;
template class OnAllRanks<Critic>;

}  // namespace seekrl::train
