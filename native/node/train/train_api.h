// The JavaScript handles of the policy's trainer and the critic.
#pragma once

#include <napi.h>

#include "node/train/learner_api.h"
#include "train/critic.h"
#include "train/trainer.h"

namespace seekrl::node {

class TrainerHandle : public LearnerHandle<TrainerHandle, train::Trainer> {
 public:
  static constexpr const char* kName = "trainer";
  static Napi::Function define(Napi::Env env);
  using LearnerHandle::LearnerHandle;

 private:
  Napi::Value accumulate(const Napi::CallbackInfo& info);
};

class CriticHandle : public LearnerHandle<CriticHandle, train::Critic> {
 public:
  static constexpr const char* kName = "critic";
  static Napi::Function define(Napi::Env env);
  using LearnerHandle::LearnerHandle;

 private:
  Napi::Value values(const Napi::CallbackInfo& info);
  Napi::Value accumulate(const Napi::CallbackInfo& info);
};

void export_train(Napi::Env env, Napi::Object exports);

}  // namespace seekrl::node
