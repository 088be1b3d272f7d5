// JavaScript's batches, options and statistics as the trainer's, shared by the policy and the critic.
#pragma once

#include <napi.h>

#include <string>
#include <vector>

#include "model/decoder.h"
#include "model/weights.h"
#include "train/adamw.h"
#include "train/batch.h"
#include "train/loss.h"

namespace seekrl::node {

// Copies the typed arrays of lib/base/addon.ts's NativeBatch; absent ones stay empty.
train::BatchArrays to_batch_arrays(const Napi::Value& value);
train::AdamWOptions to_adamw_options(const Napi::Value& value);
train::LossOptions to_loss_options(const Napi::Value& value);
double to_number(const Napi::Object& object, const char* name);
std::string to_text(const Napi::Value& value);
std::vector<model::StoredTensor> to_stored_tensors(const Napi::Value& value);

Napi::Value to_js(Napi::Env env, const train::LossStats& stats);
Napi::Value to_js(Napi::Env env, const train::ValueStats& stats);
// [{name, shape}], in order.
Napi::Value to_js(Napi::Env env, const std::vector<model::Parameter>& tensors);
Napi::Value to_float32_array(Napi::Env env, const std::vector<float>& values);

// Device thread: the tensor's numbers in row-major order.
std::vector<float> to_floats(const at::Tensor& tensor);

}  // namespace seekrl::node
