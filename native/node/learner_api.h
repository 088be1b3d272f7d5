// What the handles of policy and critic share: updates, gradients and the optimiser's state.
#pragma once

#include <napi.h>

#include <memory>
#include <utility>

#include "base/error.h"
#include "node/guard.h"
#include "node/tensor_values.h"
#include "node/values.h"

namespace seekrl::node {

// Learner is train::Trainer or train::Critic, kept until `close`; tasks hold it by themselves.
template <class Learner>
class LearnerSlot {
 public:
  ~LearnerSlot() { close(); }
  void fill(std::shared_ptr<Learner> learner) { learner_ = std::move(learner); }
  // Freed on the device thread, after the work under way.
  void close() {
    if (learner_ != nullptr) device_queue().post([learner = std::move(learner_)] {});
    learner_ = nullptr;
  }
  std::shared_ptr<Learner> get(const char* what) const {
    require(learner_ != nullptr, ErrorCode::kState, what, ": closed");
    return learner_;
  }

 private:
  std::shared_ptr<Learner> learner_;
};

// step(learningRate): the gradient norm before clipping.
template <class Learner>
Napi::Value post_step(const Napi::CallbackInfo& info, std::shared_ptr<Learner> learner) {
  return post(
      info.Env(), device_queue(),
      [learner, learning_rate = to_number(info[0], "learningRate")] { return learner->step(learning_rate); },
      [](Napi::Env env, double norm) -> Napi::Value { return Napi::Number::New(env, norm); });
}

template <class Learner>
Napi::Value post_zero_gradients(const Napi::CallbackInfo& info, std::shared_ptr<Learner> learner) {
  return post(info.Env(), device_queue(), [learner] { learner->optimizer().zero_gradients(); });
}

// gradient(name): Float32Array
template <class Learner>
Napi::Value post_gradient(const Napi::CallbackInfo& info, std::shared_ptr<Learner> learner) {
  return post(
      info.Env(), device_queue(),
      [learner, name = to_text(info[0], "name")] { return to_floats(learner->optimizer().gradient(name)); },
      to_float32_array);
}

// writeState(path, header): the state's tensors in the order of stateTensors(), as f32.
template <class Learner>
Napi::Value post_write_state(const Napi::CallbackInfo& info, std::shared_ptr<Learner> learner) {
  return post(info.Env(), device_queue(),
              [learner, path = to_text(info[0], "path"), header = to_bytes(info[1], "header")] {
                model::write_tensors(learner->state(), path, header, "F32");
              });
}

// readState(tensors, numSteps)
template <class Learner>
Napi::Value post_read_state(const Napi::CallbackInfo& info, std::shared_ptr<Learner> learner) {
  return post(info.Env(), device_queue(),
              [learner, stored = to_stored_tensors(info[0]), num_steps = to_integer(info[1], "numSteps")] {
                model::read_tensors(learner->state(), stored);
                learner->optimizer().set_num_steps(num_steps);
              });
}

}  // namespace seekrl::node
