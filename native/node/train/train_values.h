// JavaScript's batches, options and statistics as the trainer's, shared by the policy and the critic.
#pragma once

#include <napi.h>

#include "train/adamw.h"
#include "train/batch.h"
#include "train/follow/told_learner.h"
#include "train/loss.h"

namespace seekrl::node {

// Copies the typed arrays of NativeBatch (lib/base/addon/training.ts); absent ones stay empty.
train::BatchArrays to_batch_arrays(const Napi::Value& value);
train::AdamWOptions to_adamw_options(const Napi::Value& value);
train::LossOptions to_loss_options(const Napi::Value& value);

Napi::Value to_js(Napi::Env env, const std::vector<train::StateShape>& shapes);
Napi::Value to_js(Napi::Env env, const train::LossStats& stats);
Napi::Value to_js(Napi::Env env, const train::ValueStats& stats);

}  // namespace seekrl::node
