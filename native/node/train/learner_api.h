// What the handles of policy and critic share: updates, gradients and the optimiser's state.
#pragma once

#include <napi.h>

#include <memory>
#include <utility>
#include <vector>

#include "base/error.h"
#include "node/comm/comm_api.h"
#include "node/guard.h"
#include "node/model/adapter_api.h"
#include "node/tensor_values.h"
#include "node/train/train_values.h"
#include "node/values.h"
#include "train/follow/told_learner.h"

namespace seekrl::node {

// Learner is train::Trainer or train::Critic, kept until `close`; tasks hold it by themselves.
template <class Learner>
class LearnerSlot {
 public:
  ~LearnerSlot() { close(); }
  // A handle that was closed meanwhile stays empty.
  void fill(std::shared_ptr<Learner> learner) {
    learner_ = std::move(learner);
    if (is_closed_) close();
  }
  // Freed on the device thread, after the work under way.
  void close() {
    is_closed_ = true;
    if (learner_ != nullptr) device_queue().post([learner = std::move(learner_)] {});
    learner_ = nullptr;
  }
  std::shared_ptr<Learner> get(const char* what) const {
    require(learner_ != nullptr, ErrorCode::kState, what, ": closed");
    return learner_;
  }

 private:
  std::shared_ptr<Learner> learner_;
  bool is_closed_ = false;
};

// The handle of a train::Trainer or train::Critic; every call is a task on the device queue. `new Handle()` is empty
// until open(model, adapter or undefined, optimiserOptions, processGroup or undefined) resolves. A Handle has a kName,
// for its errors, and an `accumulate` of its own.
template <class Handle, class Learner>
class LearnerHandle : public Napi::ObjectWrap<Handle> {
 public:
  explicit LearnerHandle(const Napi::CallbackInfo& info) : Napi::ObjectWrap<Handle>(info) {}

 protected:
  using Methods = std::vector<Napi::ClassPropertyDescriptor<Handle>>;

  // `methods` and those that all learners have.
  static Methods with_shared(Methods methods) {
    const auto add = [&](const char* name, Napi::Value (LearnerHandle::*method)(const Napi::CallbackInfo&)) {
      methods.push_back(Handle::InstanceMethod(name, static_cast<typename Handle::InstanceMethodCallback>(method)));
    };
    add("open", &LearnerHandle::open);
    add("newSums", &LearnerHandle::new_sums);
    add("readSums", &LearnerHandle::read_sums);
    add("idle", &LearnerHandle::idle);
    add("gatherWeights", &LearnerHandle::gather_weights);
    add("step", &LearnerHandle::step);
    add("zeroGradients", &LearnerHandle::zero_gradients);
    add("gradient", &LearnerHandle::gradient);
    add("stateTensors", &LearnerHandle::state_tensors);
    add("writeState", &LearnerHandle::write_state);
    add("readState", &LearnerHandle::read_state);
    add("readWeights", &LearnerHandle::read_weights);
    add("writeWeights", &LearnerHandle::write_weights);
    add("close", &LearnerHandle::close);
    return methods;
  }

  using Sums = typename Learner::Sums;

  // What newSums made.
  static std::shared_ptr<Sums> sums_of(const Napi::Value& value) {
    require(value.IsExternal(), ErrorCode::kArgument, Handle::kName, ": expected the sums of a loss");
    return *value.As<Napi::External<std::shared_ptr<Sums>>>().Data();
  }

  std::shared_ptr<Learner> learner() const { return slot_->get(Handle::kName); }

 private:
  Napi::Value open(const Napi::CallbackInfo& info) {
    return guard(info.Env(), [&] {
      return post(
          info.Env(), device_queue(),
          [policy = policy_of(info[0], info[1]), options = optimiser_of(info)] {
            return train::open_learner<Learner>(policy, options);
          },
          [slot = slot_](Napi::Env env, const std::shared_ptr<Learner>& learner) -> Napi::Value {
            slot->fill(learner);
            return env.Undefined();
          });
    });
  }

  static train::AdamWOptions optimiser_of(const Napi::CallbackInfo& info) {
    train::AdamWOptions options = to_adamw_options(info[2]);
    options.process_group = process_group_of(info[3]);
    return options;
  }

  // newSums(): what the micro-batches of a call add to; freed on the device thread.
  Napi::Value new_sums(const Napi::CallbackInfo& info) {
    return Napi::External<std::shared_ptr<Sums>>::New(info.Env(), new std::shared_ptr<Sums>(new Sums),
                                                      [](Napi::Env, std::shared_ptr<Sums>* sums) {
                                                        device_queue().post([owned = std::move(*sums)] {});
                                                        delete sums;
                                                      });
  }

  // readSums(sums): the statistics, once the device has come so far
  Napi::Value read_sums(const Napi::CallbackInfo& info) {
    return guard(info.Env(), [&] {
      return post(
          info.Env(), device_queue(), [sums = sums_of(info[0])] { return sums->read(); },
          [](Napi::Env env, const auto& stats) -> Napi::Value { return to_js(env, stats); });
    });
  }

  // idle(): what this rank does while others run a micro-batch that it lacks
  Napi::Value idle(const Napi::CallbackInfo& info) {
    return guard(info.Env(), [&] {
      return post(info.Env(), device_queue(), [learner = learner()] { learner->optimizer().idle(); });
    });
  }

  Napi::Value gather_weights(const Napi::CallbackInfo& info) {
    return guard(info.Env(), [&] {
      return post(info.Env(), device_queue(), [learner = learner()] { learner->optimizer().gather_weights(); });
    });
  }

  // step(learningRate): the gradient norm before clipping
  Napi::Value step(const Napi::CallbackInfo& info) {
    return guard(info.Env(), [&] {
      return post(
          info.Env(), device_queue(),
          [learner = learner(), learning_rate = to_number(info[0], "learningRate")] {
            return train::OnAllRanks(*learner).update(learning_rate);
          },
          [](Napi::Env env, double norm) -> Napi::Value { return Napi::Number::New(env, norm); });
    });
  }

  Napi::Value zero_gradients(const Napi::CallbackInfo& info) {
    return guard(info.Env(), [&] {
      return post(info.Env(), device_queue(), [learner = learner()] { train::OnAllRanks(*learner).zero_gradients(); });
    });
  }

  // gradient(name): Float32Array
  Napi::Value gradient(const Napi::CallbackInfo& info) {
    return guard(info.Env(), [&] {
      return post(
          info.Env(), device_queue(),
          [learner = learner(), name = to_text(info[0], "name")] {
            return to_floats(train::OnAllRanks(*learner).gradient(name));
          },
          to_float32_array);
    });
  }

  // Names and shapes never change, so any thread may read them.
  Napi::Value state_tensors(const Napi::CallbackInfo& info) {
    return guard(info.Env(), [&] { return to_js(info.Env(), train::OnAllRanks(*learner()).state_shapes()); });
  }

  // writeState(path, header): the state's tensors in the order of stateTensors(), numbers as f32
  Napi::Value write_state(const Napi::CallbackInfo& info) {
    return guard(info.Env(), [&] {
      return post(info.Env(), device_queue(),
                  [learner = learner(), path = to_text(info[0], "path"), header = to_bytes(info[1], "header")] {
                    train::OnAllRanks(*learner).write_state(path, header);
                  });
    });
  }

  // readState(tensors, numSteps)
  Napi::Value read_state(const Napi::CallbackInfo& info) {
    return guard(info.Env(), [&] {
      return post(
          info.Env(), device_queue(),
          [learner = learner(), stored = to_stored_tensors(info[0]), num_steps = to_integer(info[1], "numSteps")] {
            train::OnAllRanks(*learner).read_state(stored, num_steps);
          });
    });
  }

  // readWeights(tensors)
  Napi::Value read_weights(const Napi::CallbackInfo& info) {
    return guard(info.Env(), [&] {
      return post(info.Env(), device_queue(),
                  [learner = learner(), stored = to_stored_tensors(info[0])] { learner->read_weights(stored); });
    });
  }

  // writeWeights(path or undefined, header, names, dtype)
  Napi::Value write_weights(const Napi::CallbackInfo& info) {
    return guard(info.Env(), [&] {
      return post(info.Env(), device_queue(),
                  [learner = learner(), path = info[0].IsUndefined() ? std::string() : to_text(info[0], "path"),
                   header = to_bytes(info[1], "header"), names = to_texts(info[2], "names"),
                   dtype = to_text(info[3], "dtype")] {
                    learner->optimizer().write_weights(learner->decoder(), path, header, names, dtype);
                  });
    });
  }

  Napi::Value close(const Napi::CallbackInfo& info) {
    slot_->close();
    return info.Env().Undefined();
  }

  std::shared_ptr<LearnerSlot<Learner>> slot_ = std::make_shared<LearnerSlot<Learner>>();
};

}  // namespace seekrl::node
