// The JavaScript handles of the policy's trainer and the critic.
#pragma once

#include <napi.h>

#include <memory>

#include "node/learner_api.h"
#include "train/critic.h"
#include "train/trainer.h"

namespace seekrl::node {

// `new TrainerHandle()` is empty until open(model, options) resolves.
class TrainerHandle : public Napi::ObjectWrap<TrainerHandle> {
 public:
  static Napi::Function define(Napi::Env env);
  explicit TrainerHandle(const Napi::CallbackInfo& info) : Napi::ObjectWrap<TrainerHandle>(info) {}

 private:
  Napi::Value open(const Napi::CallbackInfo& info);
  Napi::Value accumulate(const Napi::CallbackInfo& info);
  Napi::Value step(const Napi::CallbackInfo& info);
  Napi::Value zero_gradients(const Napi::CallbackInfo& info);
  Napi::Value gradient(const Napi::CallbackInfo& info);
  Napi::Value state_tensors(const Napi::CallbackInfo& info);
  Napi::Value write_state(const Napi::CallbackInfo& info);
  Napi::Value read_state(const Napi::CallbackInfo& info);
  Napi::Value close(const Napi::CallbackInfo& info);
  std::shared_ptr<train::Trainer> trainer() const { return slot_->get("trainer"); }

  std::shared_ptr<LearnerSlot<train::Trainer>> slot_ = std::make_shared<LearnerSlot<train::Trainer>>();
};

class CriticHandle : public Napi::ObjectWrap<CriticHandle> {
 public:
  static Napi::Function define(Napi::Env env);
  explicit CriticHandle(const Napi::CallbackInfo& info) : Napi::ObjectWrap<CriticHandle>(info) {}

 private:
  Napi::Value open(const Napi::CallbackInfo& info);
  Napi::Value values(const Napi::CallbackInfo& info);
  Napi::Value accumulate(const Napi::CallbackInfo& info);
  Napi::Value step(const Napi::CallbackInfo& info);
  Napi::Value zero_gradients(const Napi::CallbackInfo& info);
  Napi::Value gradient(const Napi::CallbackInfo& info);
  Napi::Value state_tensors(const Napi::CallbackInfo& info);
  Napi::Value write_state(const Napi::CallbackInfo& info);
  Napi::Value read_state(const Napi::CallbackInfo& info);
  Napi::Value close(const Napi::CallbackInfo& info);
  std::shared_ptr<train::Critic> critic() const { return slot_->get("critic"); }

  std::shared_ptr<LearnerSlot<train::Critic>> slot_ = std::make_shared<LearnerSlot<train::Critic>>();
};

void export_train(Napi::Env env, Napi::Object exports);

}  // namespace seekrl::node
