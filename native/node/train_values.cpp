// Conversions between JavaScript and the trainer's plain data.
#include "node/train_values.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "base/error.h"

namespace seekrl::node {

namespace {

std::vector<int64_t> ids(const Napi::Object& object, const char* name) {
  const Napi::Value value = object.Get(name);
  if (value.IsUndefined()) return {};
  require(value.IsTypedArray() && value.As<Napi::TypedArray>().TypedArrayType() == napi_int32_array,
          ErrorCode::kArgument, name, ": expected an Int32Array");
  const auto array = value.As<Napi::Int32Array>();
  return {array.Data(), array.Data() + array.ElementLength()};
}

std::vector<float> floats(const Napi::Object& object, const char* name) {
  const Napi::Value value = object.Get(name);
  if (value.IsUndefined()) return {};
  require(value.IsTypedArray() && value.As<Napi::TypedArray>().TypedArrayType() == napi_float32_array,
          ErrorCode::kArgument, name, ": expected a Float32Array");
  const auto array = value.As<Napi::Float32Array>();
  return {array.Data(), array.Data() + array.ElementLength()};
}

bool to_bool(const Napi::Object& object, const char* name) { return object.Get(name).ToBoolean().Value(); }

train::Objective to_objective(const std::string& name) {
  if (name == "likelihood") return train::Objective::kLikelihood;
  if (name == "clipped") return train::Objective::kClipped;
  if (name == "clipped-sequence") return train::Objective::kClippedSequence;
  fail(ErrorCode::kArgument, "objective: expected likelihood, clipped or clipped-sequence, got ", name);
}

train::KlEstimator to_estimator(const std::string& name) {
  if (name == "none") return train::KlEstimator::kNone;
  if (name == "k1") return train::KlEstimator::kK1;
  if (name == "k2") return train::KlEstimator::kK2;
  if (name == "k3") return train::KlEstimator::kK3;
  fail(ErrorCode::kArgument, "klEstimator: expected none, k1, k2 or k3, got ", name);
}

void set(Napi::Object& object, const char* name, double value) { object[name] = value; }

}  // namespace

double to_number(const Napi::Object& object, const char* name) {
  const Napi::Value value = object.Get(name);
  require(value.IsNumber(), ErrorCode::kArgument, name, ": expected a number");
  return value.As<Napi::Number>().DoubleValue();
}

std::string to_text(const Napi::Value& value) {
  require(value.IsString(), ErrorCode::kArgument, "expected a string");
  return value.As<Napi::String>().Utf8Value();
}

train::BatchArrays to_batch_arrays(const Napi::Value& value) {
  require(value.IsObject(), ErrorCode::kArgument, "batch: expected an object of typed arrays");
  const auto object = value.As<Napi::Object>();
  train::BatchArrays arrays;
  arrays.tokens = ids(object, "tokens");
  arrays.span_starts = ids(object, "spanStarts");
  arrays.rows = ids(object, "rows");
  arrays.sequences = ids(object, "sequences");
  arrays.weights = floats(object, "weights");
  arrays.advantages = floats(object, "advantages");
  arrays.old_logprob = floats(object, "oldLogprobs");
  arrays.rollout_logprob = floats(object, "rolloutLogprobs");
  arrays.reference_logprob = floats(object, "referenceLogprobs");
  arrays.returns = floats(object, "returns");
  arrays.old_values = floats(object, "oldValues");
  return arrays;
}

train::AdamWOptions to_adamw_options(const Napi::Value& value) {
  require(value.IsObject(), ErrorCode::kArgument, "optimiser options: expected an object");
  const auto object = value.As<Napi::Object>();
  train::AdamWOptions options;
  options.beta1 = to_number(object, "beta1");
  options.beta2 = to_number(object, "beta2");
  options.epsilon = to_number(object, "epsilon");
  options.weight_decay = to_number(object, "weightDecay");
  options.decay_vectors = to_bool(object, "decayVectors");
  options.max_grad_norm = to_number(object, "maxGradNorm");
  return options;
}

train::LossOptions to_loss_options(const Napi::Value& value) {
  require(value.IsObject(), ErrorCode::kArgument, "loss options: expected an object");
  const auto object = value.As<Napi::Object>();
  train::LossOptions options;
  options.objective = to_objective(to_text(object.Get("objective")));
  options.clip_low = to_number(object, "clipLow");
  options.clip_high = to_number(object, "clipHigh");
  options.entropy_coef = to_number(object, "entropyCoef");
  options.kl = to_estimator(to_text(object.Get("klEstimator")));
  options.kl_coef = to_number(object, "klCoef");
  options.temperature = to_number(object, "temperature");
  return options;
}

std::vector<model::StoredTensor> to_stored_tensors(const Napi::Value& value) {
  require(value.IsArray(), ErrorCode::kArgument, "tensors: expected a list");
  const auto list = value.As<Napi::Array>();
  std::vector<model::StoredTensor> stored;
  for (uint32_t i = 0; i < list.Length(); ++i) {
    const auto entry = list.Get(i).As<Napi::Object>();
    const auto shape = entry.Get("shape").As<Napi::Array>();
    model::StoredTensor tensor{to_text(entry.Get("name")),
                               to_text(entry.Get("dtype")),
                               {},
                               to_text(entry.Get("path")),
                               static_cast<uint64_t>(to_number(entry, "offset"))};
    for (uint32_t axis = 0; axis < shape.Length(); ++axis) {
      tensor.shape.push_back(shape.Get(axis).As<Napi::Number>().Int64Value());
    }
    stored.push_back(std::move(tensor));
  }
  return stored;
}

Napi::Value to_js(Napi::Env env, const train::LossStats& stats) {
  Napi::Object object = Napi::Object::New(env);
  set(object, "loss", stats.loss);
  set(object, "policy", stats.policy);
  set(object, "numRows", stats.num_rows);
  set(object, "entropy", stats.entropy);
  set(object, "kl", stats.kl);
  set(object, "approxKl", stats.approx_kl);
  set(object, "numClipped", stats.num_clipped);
  set(object, "gap", stats.gap);
  set(object, "gapMax", stats.gap_max);
  return object;
}

Napi::Value to_js(Napi::Env env, const train::ValueStats& stats) {
  Napi::Object object = Napi::Object::New(env);
  set(object, "loss", stats.loss);
  set(object, "numRows", stats.num_rows);
  set(object, "numClipped", stats.num_clipped);
  set(object, "values", stats.values);
  return object;
}

Napi::Value to_js(Napi::Env env, const std::vector<model::Parameter>& tensors) {
  Napi::Array list = Napi::Array::New(env);
  for (const auto& tensor : tensors) {
    Napi::Array shape = Napi::Array::New(env);
    for (const int64_t size : tensor.value.sizes()) shape[shape.Length()] = static_cast<double>(size);
    Napi::Object entry = Napi::Object::New(env);
    entry["name"] = tensor.name;
    entry["shape"] = shape;
    list[list.Length()] = entry;
  }
  return list;
}

Napi::Value to_float32_array(Napi::Env env, const std::vector<float>& values) {
  auto array = Napi::Float32Array::New(env, values.size());
  std::copy(values.begin(), values.end(), array.Data());
  return array;
}

std::vector<float> to_floats(const at::Tensor& tensor) {
  const at::Tensor flat = tensor.detach().to(at::kCPU, at::kFloat).contiguous();
  const float* values = flat.const_data_ptr<float>();
  return {values, values + flat.numel()};
}

}  // namespace seekrl::node
